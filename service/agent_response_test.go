package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// API-15: however much the programs of many tests print, the run gets its verdict, and no
// submission can cause an error instead. Output that is too large or gets no quota is removed from
// the tests' results and marked.
func TestLargeTestsHaveTheirVerdict(t *testing.T) {
	const tests = 140
	var asked []string
	res := api.Result{Verdict: api.Nonzero, Stage: api.StageRun, ExitCode: 1}
	for i := range tests {
		id := fmt.Sprint(i)
		asked = append(asked, `{"expected":"2"}`)
		one := api.Result{Verdict: api.Nonzero, ExitCode: 1, Stdout: bytes.Repeat([]byte{1}, int(api.KeepOutput)),
			Stderr: bytes.Repeat([]byte{1}, int(api.KeepOutput)),
			Files:  []api.File{{Name: "out", Content: []byte("x")}}}
		res.Tests = append(res.Tests, api.TestResult{ID: fmt.Sprint(i + 1), Difference: "line " + id, Result: one,
			Interactor: &api.ProgramOutcome{Stderr: bytes.Repeat([]byte{1}, 16<<10),
				Files: []api.File{{Name: "left", Content: []byte("x")}}}})
	}

	s := api.Summarize(tests, res.Tests)
	res.Summary = &s
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) { answerRun(w, r, res) })
	body := `{"image":"tiny","argv":["x"],"tests":[` + strings.Join(asked, ",") + `]}`
	for name, tt := range map[string]struct {
		answers api.Size
		full    bool
		minimum int // number of tests with complete output
		maximum int
	}{
		"room":          {384 * api.MiB, false, tests, tests},
		"too much":      {64 * api.MiB, false, 50, 130},
		"no room":       {384 * api.MiB, true, 0, 0},
		"much too much": {8 * api.MiB, false, 1, 30},
	} {
		t.Run(name, func(t *testing.T) {
			web := serveFake(t, mux, func(c *Config) { c.MaxAnswers = tt.answers })
			g := web.Config.Handler.(*Gateway)
			held := func(got *api.Result, how string) {
				t.Helper()
				if got == nil || got.Verdict != api.Nonzero || got.Summary == nil || !reflect.DeepEqual(*got.Summary, s) || len(got.Tests) != tests {
					t.Fatalf("%s: %.300v", how, got)
				}

				entire := 0
				for i, one := range got.Tests {
					r, o := one.Result, one.Interactor
					switch {
					case one.Difference != res.Tests[i].Difference || r.Verdict != api.Nonzero:
						t.Fatalf("%s: test %s is %.300v", how, one.ID, one)
					case bytes.Equal(r.Stdout, res.Tests[i].Result.Stdout) && bytes.Equal(r.Stderr, res.Tests[i].Result.Stderr) && len(r.Files) == 1 &&
						len(o.Stderr) == 16<<10 && len(o.Files) == 1:
						entire++
					case !one.Cut || !r.StdoutTruncated || !r.StderrTruncated || len(r.Skipped) != 1 || len(o.Stderr) != 0 ||
						len(o.Files) != 0 || len(o.Skipped) != 1:
						t.Fatalf("%s: test %s is cut and not marked: %.300v", how, one.ID, one)
					}
				}

				if entire < tt.minimum || entire > tt.maximum {
					t.Errorf("%s: %d tests have all of their output; want %d to %d", how, entire, tt.minimum, tt.maximum)
				}
			}

			var theirs int64
			if tt.full {
				theirs = int64(tt.answers)
				for i := range 256 { // as many keys as it is divided between
					if !g.core.Responses.Memory.TryAcquire(fmt.Sprint("other ", i), theirs/256) {
						t.Fatal("there is no room")
					}
				}
			}

			var st api.Status
			if s := send(t, web, "POST", "/v1/runs?wait=false", body, &st); s != 202 {
				t.Fatal(s)
			}

			waitUntil(t, "the end of the run", func() bool { return g.runs.Active.Get("", st.Run).Status().State == api.Done })
			held(g.runs.Active.Get("", st.Run).Status().Result, "by itself")
			if had := used(g) - theirs; had > int64(tt.answers)/4 {
				t.Errorf("there is room for %d bytes of %d", had, tt.answers)
			}

			g.runs.Active.Get("", st.Run).Response.Release()
			var got api.Result
			w := httptest.NewRecorder()
			r := httptest.NewRequest("POST", "/v1/runs", strings.NewReader(body))
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			g.ServeHTTP(w, r)
			if tt.full { // 140 results get no quota even without their output
				if w.Code != 429 || !strings.Contains(w.Body.String(), `"run_id"`) {
					t.Errorf("waited for: %d %.300s", w.Code, w.Body)
				}
			} else if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			} else {
				held(&got, "waited for")
			}

			if had := used(g) - theirs; had != 0 {
				t.Errorf("there is room for %d bytes when all have their answers", had)
			}

			var page api.Page[api.Record]
			if s := send(t, web, "GET", "/v1/history?verdict=nonzero", "", &page); s != 200 || len(page.Items) != 2 {
				t.Errorf("%d: %d runs with the verdict are in the history; want 2", s, len(page.Items))
			}
		})
	}
}
