package service

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/runs"
)

// judge returns an agent whose program gives wrong answers to some tests.
func judge() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		tests := []api.TestResult{
			{ID: "a", Answer: api.Accepted, Result: api.Result{Verdict: api.OK}},
			{ID: "b", Answer: api.WrongAnswer, Difference: "line 1", Result: api.Result{Verdict: api.OK}},
		}
		s := api.Summarize(2, tests)
		answerRun(w, r, api.Result{Verdict: api.OK, Stage: api.StageRun, Tests: tests, Summary: &s})
	})
	return mux
}

const judged = `{"image":"tiny","argv":["cat"],"tests":[{"id":"a","expected":"1"},{"id":"b","expected":"2"}]}`

// A run whose program ended with 0 and gave a wrong answer is no success.
func TestWrongAnswersAreInTheHistory(t *testing.T) {
	web := serveFake(t, judge(), nil)
	if s := send(t, web, "POST", "/v1/runs", judged, nil); s != 200 {
		t.Fatal(s)
	}

	var page api.Page[api.Record]
	if s := send(t, web, "GET", "/v1/history", "", &page); s != 200 || len(page.Items) != 1 {
		t.Fatalf("%d: %+v", s, page)
	}

	listed := page.Items[0]
	if s := listed.Summary; s == nil || s.Tests != 2 || s.Ran != 2 || s.Accepted != 1 || s.FirstFailed != "b" {
		t.Errorf("listed with %+v", s)
	}

	for query, want := range map[string]int{"ok": 1, "failed": 1, "nonzero": 0, "nonzero,ok": 1, "nonzero&verdict=ok": 1, "": 1} {
		var page api.Page[api.Record]
		if s := send(t, web, "GET", "/v1/history?verdict="+query, "", &page); s != 200 || len(page.Items) != want {
			t.Errorf("verdict=%s: %d, %d runs; want %d", query, s, len(page.Items), want)
		}
	}

	for _, path := range []string{"/v1/history?verdict=fail", "/v1/stats?verdict=ok,OK", "/v1/stats?verdict=ok&verdict=x"} {
		var p api.Problem
		if s := send(t, web, "GET", path, "", &p); s != 400 || !strings.Contains(p.Detail, "[ok nonzero signaled output-limit ") ||
			!strings.Contains(p.Detail, "failed") {
			t.Errorf("%s: %d %s", path, s, p.Detail)
		}
	}

	var one api.Status
	if s := send(t, web, "GET", "/v1/runs/"+listed.ID, "", &one); s != 200 || one.Result == nil || one.Result.Summary == nil ||
		!reflect.DeepEqual(one.Result.Summary, listed.Summary) || one.Result.Tests[1].Difference != "line 1" {
		t.Errorf("%d: %+v", s, one.Result)
	}

	var stats api.Stats
	if s := send(t, web, "GET", "/v1/stats", "", &stats); s != 200 || stats.Runs != 1 || stats.Success != 0 || stats.Failure != 1 ||
		stats.Wrong != 1 || stats.Verdicts[api.OK] != 1 {
		t.Errorf("%d: %+v", s, stats)
	}
}

// A key with admin can read another key's run, but only with all=true.
func TestAdminReadsAnothersRun(t *testing.T) {
	token, text := map[string]string{}, "keys:\n"
	for _, name := range []string{"ann", "bob", "root"} {
		one, line, err := auth.NewKey(auth.Key{Name: name, Admin: name == "root"})
		if err != nil {
			t.Fatal(err)
		}
		token[name], text = "Bearer "+one, text+line+"\n"
	}

	keys, err := auth.ParseKeys([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	web := serveFake(t, judge(), func(c *Config) { c.Keys = keys })
	var res api.Result
	if s := send(t, web, "POST", "/v1/runs", judged, &res, "Authorization", token["ann"]); s != 200 {
		t.Fatal(s)
	}

	for _, tt := range []struct {
		key, query string
		status     int
	}{
		{"ann", "", 200},
		{"ann", "?all=false", 200},
		{"ann", "?all=true", 403},
		{"bob", "", 404},
		{"bob", "?all=true", 403},
		{"root", "", 404},
		{"root", "?all=true", 200},
		{"root", "?all=perhaps", 400},
	} {
		for _, path := range []string{"/v1/runs/" + res.Run, "/v1/runs/" + res.Run + "/events"} {
			if s := send(t, web, "GET", path+tt.query, "", nil, "Authorization", token[tt.key]); s != tt.status {
				t.Errorf("%s asks for %s%s of ann's: %d; want %d", tt.key, path, tt.query, s, tt.status)
			}
		}
	}

	// A run that only the history has has one event, and nothing after it.
	for after, status := range map[string]int{"7": 200, fmt.Sprint(runs.PastEvent): 204} {
		if s := send(t, web, "GET", "/v1/runs/"+res.Run+"/events?after="+after, "", nil, "Authorization", token["ann"]); s != status {
			t.Errorf("the events after %s: %d; want %d", after, s, status)
		}
	}

	var p api.Problem
	if s := send(t, web, "GET", "/v1/runs/none?all=true", "", &p, "Authorization", token["root"]); s != 404 ||
		!strings.Contains(p.Detail, "it has not ended") {
		t.Errorf("%d %s", s, p.Detail)
	}
	if s := send(t, web, "DELETE", "/v1/runs/"+res.Run+"?all=true", "", nil, "Authorization", token["root"]); s != 400 {
		t.Errorf("it may be canceled: %d", s)
	}
}
