package service

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// The service has an agent execute the command of a suite, and reads the report that the program may have
// written itself.
func TestRunsOfSuites(t *testing.T) {
	mux := http.NewServeMux()
	var got api.Run
	var files []api.File
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		say(w, 200, api.Result{Verdict: api.Nonzero, ExitCode: 1, Files: files})
	})

	web := serveFake(t, mux, nil)
	const body = `{"language":"python","source":"def sq(x): return x","source_name":"sq.py","files":[{"name":"test_sq.py","content":"x"}],"suite":{"report":"pytest","cases":3}}`
	files = []api.File{{Name: "brig-report.xml", Content: api.Bytes(`<testsuites><testsuite><testcase classname="test_sq" name="test_a"/>
<testcase classname="test_sq" name="test_b"><failure message="assert 2 == 4">more</failure></testcase></testsuite></testsuites>`)}}
	var res api.Result
	if s := send(t, web, "POST", "/v1/runs", body, &res); s != 200 {
		t.Fatalf("%d %+v", s, res)
	}
	if got.Suite != nil || got.Argv[0] != "python3" || len(got.Files) != 2 || got.Collect.Globs[0] != "brig-report.xml" {
		t.Errorf("the agent got %+v", got)
	}
	if len(res.Tests) != 2 || res.Tests[0].ID != "test_sq.test_a" || !res.Tests[0].Accepted() || !res.Tests[0].AnswerVisible ||
		!res.Tests[1].AnswerVisible ||
		res.Tests[1].Answer != api.WrongAnswer || !strings.Contains(res.Tests[1].Message, "assert 2 == 4") ||
		res.Tests[0].Result.Run != res.Run || len(res.Files) != 0 {
		t.Errorf("%+v", res)
	}
	if s := res.Summary; s == nil || s.Tests != 3 || s.Accepted != 1 || s.Answer != api.WrongAnswer {
		t.Errorf("%+v", s)
	}

	var kept api.Status
	if s := send(t, web, "GET", "/v1/runs/"+res.Run, "", &kept); s != 200 || kept.Result.Summary == nil || kept.Result.Summary.Accepted != 1 {
		t.Errorf("the history has %d, %+v", s, kept)
	}

	files = nil // the program ended what runs the cases
	res = api.Result{}
	if s := send(t, web, "POST", "/v1/runs", body, &res); s != 200 || res.Summary == nil || res.Summary.Accepted != 0 || len(res.Tests) != 1 {
		t.Errorf("without a report: %d %+v", s, res)
	}

	for _, wrong := range []string{
		`{"language":"python","source":"x","suite":{"report":"pytest"}}`,
		`{"language":"python","source":"x","source_name":"a.py","suite":{"report":"nose"}}`,
		`{"language":"python","source":"x","source_name":"a.py","suite":{"report":"pytest"},"tests":[{"stdin":"1"}]}`,
		`{"language":"c","source":"x","source_name":"a.c","suite":{"report":"pytest"}}`,
		`{"language":"python","source":"x","source_name":"brig-report.xml","suite":{"report":"pytest"}}`,
		`{"language":"python","source":"x","source_name":"a.py","suite":{"report":"pytest"},"problem":"p"}`,
	} {
		var p api.Problem
		if s := send(t, web, "POST", "/v1/runs", wrong, &p); s/100 != 4 || p.Detail == "" {
			t.Errorf("%s: %d %+v", wrong, s, p)
		}
	}
}
