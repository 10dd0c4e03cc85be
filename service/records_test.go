package service

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/history"
)

// API-14: whatever field of a run names another key's blob, the blob does not exist for it, and the
// agent is not called.
func TestAnothersBlobIsNotThere(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	var ran atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			say(w, 200, struct{}{})
		}
	})

	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		ran.Add(1)
		answerRun(w, r, api.Result{Verdict: api.OK})
	})
	web := serveFake(t, mux, func(c *Config) { c.Keys = keys })
	digest := func(who string) string {
		d := fmt.Sprintf("%x", sha256.Sum256([]byte(who)))
		if s := send(t, web, "PUT", "/v1/blobs/"+d, who, nil, as[who]...); s != 204 {
			t.Fatal(s)
		}
		return d
	}

	anns, bobs := digest("ann"), digest("bob")
	for i, field := range []string{
		`"stdin_blob":"ANN"`,
		`"files":[{"name":"a","blob":"BOB"},{"name":"b","blob":"ANN"}]`,
		`"tests":[{"expected":"x"},{"stdin_blob":"ANN","expected":"x"}]`,
		`"tests":[{"expected":"x"},{"expected_blob":"ANN"}]`,
	} {
		run := strings.NewReplacer("ANN", anns, "BOB", bobs).Replace(`{"image":"tiny","argv":["cat"],` + field + `}`)
		for _, path := range []string{"/v1/runs", "/v1/runs?wait=false"} {
			var p api.Problem
			if s := send(t, web, "POST", path, run, &p, as["bob"]...); s != 404 || p.Code != api.CodeNoBlob || !strings.Contains(p.Detail, anns) {
				t.Errorf("%s, %s by bob: %d, %+v", path, run, s, p)
			}
		}

		if n := ran.Load(); n != int64(i) {
			t.Errorf("%s: the agent was asked for %d runs; want %d", run, n, i)
		}

		own := strings.ReplaceAll(run, bobs, anns)
		if s := send(t, web, "POST", "/v1/runs", own, nil, as["ann"]...); s != 200 {
			t.Errorf("%s by ann, whose it is: %d", own, s)
		}

		ran.Store(int64(i + 1))
	}
}

// No client gets a result that is not in the history.
func TestUnrecordedResultsAreNotReturned(t *testing.T) {
	var store *history.Store
	f := new(fakeSessions)
	mux := f.mux()
	answer := func(w http.ResponseWriter, r *http.Request) {
		answerRun(w, r, api.Result{Verdict: api.OK, Stage: api.StageRun, Stdout: api.Bytes("told")})
	}
	mux.HandleFunc("POST /v1/runs", answer)
	mux.HandleFunc("POST /v1/sessions/{id}/exec", answer)
	web := serveFake(t, mux, func(c *Config) { store = c.History })
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	for path, body := range map[string]string{
		"/v1/runs":             simple,
		"/execute":             `{"code":"x","language":"bash"}`,
		"/v1/sessions/s1/exec": `{"argv":["true"]}`,
	} {
		var p json.RawMessage
		if s := send(t, web, "POST", path, body, &p); s < 500 || strings.Contains(string(p), "told") ||
			!strings.Contains(string(p), `"retry_safe":true`) {
			t.Errorf("%s: %d, %s", path, s, p)
		}
	}

	var st api.Status
	if s := send(t, web, "POST", "/v1/runs?wait=false", simple, &st); s != 202 {
		t.Fatal(s)
	}

	_, text, _ := getPage(t, web, "/v1/runs/"+st.Run+"/events") // output is sent as it is written
	if !strings.Contains(text, "event: stdout") || !strings.Contains(text, "event: error") || strings.Contains(text, "event: result") ||
		strings.Contains(text, "verdict") {
		t.Errorf("the events of a run that was not kept: %s", text)
	}
}

// What an operator should see of runs is in the alerts of the key that ran them.
func TestAlertsComeThroughTheService(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"}, auth.Key{Name: "op", Admin: true})
	results := map[string]api.Result{
		"crashes": {Verdict: api.Signaled, Stage: api.StageRun, Signal: 11},
		"eats":    {Verdict: api.MemoryLimit, Stage: api.StageRun},
		"spies":   {Verdict: api.Denied, Stage: api.StageRun, Denial: &api.Denial{Syscall: "ptrace"}},
		"fails":   {Verdict: api.Nonzero, Stage: api.StageRun, ExitCode: 1},
		"works":   {Verdict: api.OK, Stage: api.StageRun},
	}

	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		var run api.Run
		if err := json.NewDecoder(r.Body).Decode(&run); err != nil {
			t.Error(err)
		}
		res := results[run.Argv[0]]
		res.Labels = run.Labels
		say(w, 200, res)
	})

	web := serveFake(t, mux, func(c *Config) { c.Keys = keys })
	id := map[string]string{}
	for _, does := range []string{"works", "crashes", "eats", "spies"} {
		var res api.Result
		if s := send(t, web, "POST", "/v1/runs", fmt.Sprintf(`{"image":"tiny","argv":[%q],"labels":{"project":"one"}}`, does), &res,
			as["ann"]...); s != 200 {
			t.Fatal(s)
		}
		id[does] = res.Run
	}

	var last api.Result
	for range 20 {
		if s := send(t, web, "POST", "/v1/runs", `{"image":"tiny","argv":["fails"],"labels":{"project":"many"}}`, &last, as["ann"]...); s != 200 {
			t.Fatal(s)
		}
	}

	want := []api.Alert{
		{Kind: api.FailureRate, Owner: "ann", Project: "many", Run: last.Run, Text: "20 of 20"},
		{Kind: api.DeniedCall, Owner: "ann", Project: "one", Run: id["spies"], Text: "ptrace"},
		{Kind: api.OOMKill, Owner: "ann", Project: "one", Run: id["eats"], Text: "memory limit"},
		{Kind: api.Segfault, Owner: "ann", Project: "one", Run: id["crashes"], Text: "SIGSEGV"},
	}

	for _, tt := range []struct {
		who, query string
		want       []api.Alert
	}{
		{"ann", "", want},
		{"ann", "?project=one", want[1:]},
		{"ann", "?limit=1", want[:1]},
		{"bob", "", nil},
		{"op", "", nil},
		{"op", "?all=true", want},
	} {
		var got api.Page[api.Alert]
		if s := send(t, web, "GET", "/v1/alerts"+tt.query, "", &got, as[tt.who]...); s != 200 || len(got.Items) != len(tt.want) {
			t.Errorf("%s asks for alerts%s: %d, %+v; want %d", tt.who, tt.query, s, got.Items, len(tt.want))
			continue
		}
		for i, a := range got.Items {
			w := tt.want[i]
			if a.Kind != w.Kind || a.Owner != w.Owner || a.Project != w.Project || a.Run != w.Run || !strings.Contains(a.Text, w.Text) ||
				time.Since(a.Time) > time.Hour {
				t.Errorf("%s asks for alerts%s: %+v; want %+v", tt.who, tt.query, a, w)
			}
		}
	}
}

// Without a limit a listing has a thousand runs and a position to continue from; since and until
// bound a listing.
func TestHistoryPages(t *testing.T) {
	const n = 1001
	first := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(i int) string { return first.Add(time.Duration(i) * time.Second).Format(time.RFC3339) }
	var store *history.Store
	web := serveFake(t, http.NewServeMux(), func(c *Config) { store = c.History })
	var all sync.WaitGroup
	for i := range n { // concurrently, so that many are committed together
		all.Go(func() {
			if err := store.Add(t.Context(),
				api.Record{ID: fmt.Sprintf("r%04d", i), Verdict: api.OK, Stage: api.StageRun,
					Created: first.Add(time.Duration(i) * time.Second)}); err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()

	for _, tt := range []struct {
		query       string
		n           int
		newest, end int // end is the oldest
		more        bool
	}{
		{"", 1000, 1000, 1, true},
		{"?limit=7", 7, 1000, 994, true},
		{"?limit=10000", n, 1000, 0, false},
		{"?since=" + at(900), 101, 1000, 900, false},
		{"?until=" + at(100), 100, 99, 0, false},
		{"?since=" + at(10) + "&until=" + at(12), 2, 11, 10, false},
	} {
		var got api.Page[api.Record]
		if s := send(t, web, "GET", "/v1/history"+tt.query, "", &got); s != 200 || len(got.Items) != tt.n || (got.Next != "") != tt.more {
			t.Errorf("history%s: %d, %d runs, next %q; want %d", tt.query, s, len(got.Items), got.Next, tt.n)
			continue
		}
		if newest, oldest := got.Items[0].ID, got.Items[tt.n-1].ID; newest != fmt.Sprintf("r%04d", tt.newest) ||
			oldest != fmt.Sprintf("r%04d", tt.end) {
			t.Errorf("history%s is from %s to %s; want %d to %d", tt.query, newest, oldest, tt.newest, tt.end)
		}

		var stats api.Stats
		if strings.Contains(tt.query, "limit") || tt.query == "" {
			continue
		}
		if s := send(t, web, "GET", "/v1/stats"+tt.query, "", &stats); s != 200 || int(stats.Runs) != tt.n {
			t.Errorf("stats%s: %d, of %d runs; want %d", tt.query, s, stats.Runs, tt.n)
		}
	}
}

// GRD-30: a run whose checker failed is in the history, although its answer is an error of the caller: no program
// ends a run without a trace.
func TestFailedCheckersAreInTheHistory(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, _ *http.Request) {
		deny(w, 422, api.Refuse(api.CodeCheckFailed, "the checker failed: signal SIGSEGV"))
	})
	web := serveFake(t, mux, nil)
	const run = `{"image":"tiny","argv":["x"],"tests":[{"expected":"1"}],"check":{"protocol":"exit","image":"tiny","argv":["c"]},"labels":{"project":"one"}}`
	var p api.Problem
	if s := send(t, web, "POST", "/v1/runs", run, &p); s != 422 || p.Code != api.CodeCheckFailed || p.Run == "" {
		t.Fatalf("%d, %+v", s, p)
	}

	var got api.Page[api.Record]
	if s := send(t, web, "GET", "/v1/history?project=one", "", &got); s != 200 || len(got.Items) != 1 {
		t.Fatalf("%d, %+v", s, got)
	}
	if one := got.Items[0]; one.ID != p.Run || one.Code != api.CodeCheckFailed || one.Verdict != "" ||
		!strings.Contains(one.Message, "SIGSEGV") {
		t.Errorf("%+v", one)
	}
}
