package service

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/client"
	"github.com/brig-sandbox/brig/service/core"
)

// echo is an agent that compares the source of a program with the expected output of each test.
func echo(t *testing.T) *http.ServeMux {
	mux := (&agentWithBlobs{blobs: map[string]string{}}).mux(t)
	own := http.NewServeMux()
	own.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		run, err := decode.Run(text)
		if err != nil {
			t.Error(err)
		}

		r.Body = io.NopCloser(bytes.NewReader(text))
		if string(run.Source) == "fail" {
			deny(w, 500, api.Fail(api.CodeInternal, "the agent failed"))
			return
		}
		res := api.Result{Verdict: api.OK, Stdout: run.Stdin}
		if string(run.Source) == "memory" {
			res.Verdict = api.MemoryLimit
		}
		for _, one := range run.Tests {
			answer := api.WrongAnswer
			if one.Expected != nil && string(*one.Expected) == string(run.Source) {
				answer = api.Accepted
			}
			res.Tests = append(res.Tests, api.TestResult{ID: one.ID, Answer: answer, Result: api.Result{Verdict: api.OK}})
		}
		if len(res.Tests) > 0 {
			summary := api.Summarize(len(run.Tests), res.Tests)
			res.Summary = &summary
		}
		answerRun(w, r, res)
	})
	own.Handle("/v1/blobs/", mux)
	return own
}

// serveRejudges is a service with problems, batches and kept requests, for ann and bob.
func serveRejudges(t *testing.T, dir string) (*httptest.Server, map[string][]string) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"}, auth.Key{Name: "root", Admin: true})
	web, _ := serveBatches(t, echo(t), dir, func(c *Config) {
		c.Keys, c.Problems, c.ReadProblem, c.KeepRequests = keys, t.TempDir(), readHere, true
	})
	return web, as
}

// putSum stores a problem whose tests have the expected outputs.
func putSum(t *testing.T, web *httptest.Server, as []string, expected ...string) {
	t.Helper()
	var files []string
	for i, e := range expected {
		n := string(rune('1' + i))
		files = append(files, n+".in", n, n+".out", e)
	}
	if s := send(t, web, "PUT", "/v1/problems/sum", zipped(t, files...), nil, as...); s != 200 {
		t.Fatal(s)
	}
}

// await waits until a rejudge is no longer running.
func awaitRejudge(t *testing.T, web *httptest.Server, id string, as []string) (r api.Rejudge) {
	t.Helper()
	until := time.Now().Add(time.Minute)
	for r.State = api.RejudgeRunning; r.State == api.RejudgeRunning; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("after a minute: %+v", r)
		}
		if s := send(t, web, "GET", "/v1/rejudges/"+id, "", &r, as...); s != 200 {
			t.Fatalf("%d %+v", s, r)
		}
	}
	return r
}

// Past runs are judged again with the mended problem. Until that is applied, and if it is discarded, the old outcomes
// count; then the new ones do. Nothing of another key is chosen, seen or changed.
func TestRejudge(t *testing.T) {
	web, as := serveRejudges(t, t.TempDir())
	putSum(t, web, as["ann"], "3", "wrong")
	putSum(t, web, as["bob"], "3", "wrong")
	submit := func(key, source string) (res api.Result) {
		t.Helper()
		body := `{"problem":"sum","language":"python","source":"` + source + `","labels":{"project":"class","task":"` + source + `","run":"r1"}}`
		if s := send(t, web, "POST", "/v1/runs", body, &res, as[key]...); s != 200 {
			t.Fatalf("%d %+v", s, res)
		}
		return res
	}
	good, bad, bobs := submit("ann", "3"), submit("ann", "4"), submit("bob", "3")
	var plain api.Result
	send(t, web, "POST", "/v1/runs", `{"language":"python","source":"1"}`, &plain, as["ann"]...)
	listed := func(key, query string) (outcomes string) {
		t.Helper()
		var page api.Page[api.Record]
		if s := send(t, web, "GET", "/v1/history?problem=sum&project=class"+query, "", &page, as[key]...); s != 200 {
			t.Fatal(s)
		}
		for _, r := range page.Items {
			outcomes += r.Task + ":" + r.Summary.Outcomes + ":" + r.Run + " "
		}
		return outcomes
	}
	old := "4:WW:r1 3:AW:r1 "
	if got := listed("ann", ""); got != old {
		t.Fatal(got)
	}

	putSum(t, web, as["ann"], "3", "3") // the second test was wrong
	for body, want := range map[string]int{
		`{}`: 400, `{"problem":"none"}`: 404, `{"problem":"sum","verdicts":["x"]}`: 400, `{"runs":["` + plain.Run + `"]}`: 409,
		`{"runs":["` + bobs.Run + `"]}`: 409, `{"problem":"sum","until":"2001-01-01T00:00:00Z"}`: 404,
	} {
		if s := send(t, web, "POST", "/v1/rejudges", body, nil, as["ann"]...); s != want {
			t.Errorf("%s: %d, want %d", body, s, want)
		}
	}

	open := func(body string) api.Rejudge {
		t.Helper()
		var r api.Rejudge
		if s := send(t, web, "POST", "/v1/rejudges", body, &r, as["ann"]...); s != 201 || r.ID == "" {
			t.Fatalf("%d %+v", s, r)
		}
		return awaitRejudge(t, web, r.ID, as["ann"])
	}
	first := open(`{"problem":"sum","runs":["` + good.Run + `","` + bad.Run + `","` + bobs.Run + `"]}`)
	if first.State != api.RejudgeReady || first.Judged != 2 || first.Changed != 1 || first.LeftOutTotal != 1 ||
		first.LeftOut[0].Run != bobs.Run || len(first.Matrix) != 2 || !first.Batch.Rejudge {
		t.Errorf("%+v", first)
	}
	want := []api.RejudgeCell{{Old: "wrong-answer", New: "accepted", Count: 1, Changed: 1},
		{Old: "wrong-answer", New: "wrong-answer", Count: 1}}
	if len(first.Matrix) == 2 && (first.Matrix[0] != want[0] || first.Matrix[1] != want[1]) {
		t.Errorf("%+v", first.Matrix)
	}
	if got := listed("ann", ""); got != old {
		t.Errorf("before it is applied: %s", got)
	}
	if got := listed("ann", "&replaced=true"); strings.Count(got, " ") != 4 {
		t.Errorf("with trials: %s", got)
	}

	for _, path := range []string{"", "/changes"} {
		for _, key := range []string{"bob", "root"} {
			if s := send(t, web, "GET", "/v1/rejudges/"+first.ID+path, "", nil, as[key]...); s != 404 {
				t.Errorf("%s reads %q of ann's: %d", key, path, s)
			}
		}
	}
	for _, act := range []string{"/apply", "/discard"} {
		if s := send(t, web, "POST", "/v1/rejudges/"+first.ID+act, "", nil, as["bob"]...); s != 404 {
			t.Errorf("bob: %s: %d", act, s)
		}
	}

	var changes api.Page[api.RejudgeChange]
	if s := send(t, web, "GET", "/v1/rejudges/"+first.ID+"/changes", "", &changes, as["ann"]...); s != 200 || len(changes.Items) != 1 {
		t.Fatalf("%d %+v", s, changes)
	} else if c := changes.Items[0]; c.Run != good.Run || c.Old.Accepted != 1 || c.New.Accepted != 2 || c.Task != "3" {
		t.Errorf("%d %+v", s, changes)
	}
	every := "/v1/rejudges/" + first.ID + "/changes?unchanged=true&limit=1"
	if s := send(t, web, "GET", every, "", &changes, as["ann"]...); s != 200 || changes.Next != "1" {
		t.Errorf("%d %+v", s, changes)
	}

	// Discarded, nothing changes for good.
	var r api.Rejudge
	if s := send(t, web, "POST", "/v1/rejudges/"+first.ID+"/discard", "", &r, as["ann"]...); s != 200 || r.State != api.RejudgeDiscarded {
		t.Errorf("%d %+v", s, r)
	}
	if s := send(t, web, "POST", "/v1/rejudges/"+first.ID+"/apply", "", nil, as["ann"]...); s != 409 {
		t.Errorf("applied after it was discarded: %d", s)
	}
	if got := listed("ann", ""); got != old {
		t.Errorf("discarded: %s", got)
	}

	// Two at once: the second one finds that its run was replaced, and changes nothing.
	second, third := open(`{"problem":"sum","project":"class"}`), open(`{"problem":"sum","verdicts":["failed"]}`)
	for range 2 { // again has no effect
		if s := send(t, web, "POST", "/v1/rejudges/"+second.ID+"/apply", "", &r, as["ann"]...); s != 200 || r.State != api.RejudgeApplied {
			t.Fatalf("%d %+v", s, r)
		}
	}
	if got := listed("ann", ""); got != "3:AA:r1 4:WW:r1 " {
		t.Errorf("applied: %s", got)
	}
	var p api.Problem
	if s := send(t, web, "POST", "/v1/rejudges/"+third.ID+"/apply", "", &p, as["ann"]...); s != 409 ||
		!strings.Contains(p.Detail, "another rejudge") {
		t.Errorf("the other one: %d %+v", s, p)
	}
	if s := send(t, web, "POST", "/v1/rejudges/"+third.ID+"/discard", "", nil, as["ann"]...); s != 200 {
		t.Errorf("the other one cannot be discarded: %d", s)
	}
	if s := send(t, web, "POST", "/v1/rejudges/"+second.ID+"/discard", "", nil, as["ann"]...); s != 409 {
		t.Errorf("discarded after it was applied: %d", s)
	}

	var status api.Status
	if s := send(t, web, "GET", "/v1/runs/"+good.Run, "", &status, as["ann"]...); s != 200 || status.ReplacedBy == "" ||
		status.Result.Summary.Accepted != 1 {
		t.Errorf("the old run: %d %+v", s, status)
	}
	if s := send(t, web, "GET", "/v1/runs/"+status.ReplacedBy, "", &status, as["ann"]...); s != 200 || status.Trial ||
		status.Result.Summary.Accepted != 2 {
		t.Errorf("the new run: %d %+v", s, status)
	}
	var stats api.Stats
	if send(t, web, "GET", "/v1/stats?problem=sum", "", &stats, as["ann"]...); stats.Runs != 2 || stats.Success != 1 {
		t.Errorf("%+v", stats)
	}

	// A job of a batch keeps its name, and the batch that it was a job of.
	status2, _, header := ask(t, "POST", web.URL+"/v1/batches?wait=true", `{"id":"zoe","problem":"sum","language":"python","source":"4"}`,
		append([]string{"Content-Type", core.JSONLines}, as["ann"]...)...)
	if status2 != 200 {
		t.Fatal(status2)
	}
	batch := strings.TrimPrefix(header.Get("Location"), "/v1/batches/")
	putSum(t, web, as["ann"], "4", "3")
	if fourth := open(`{"batch":"` + batch + `"}`); fourth.Judged != 1 || fourth.Changed != 1 {
		t.Errorf("of a batch: %+v", fourth)
	} else if s := send(t, web, "POST", "/v1/rejudges/"+fourth.ID+"/apply", "", nil, as["ann"]...); s != 200 {
		t.Errorf("of a batch: %d", s)
	}
	var page api.Page[api.Record]
	if send(t, web, "GET", "/v1/history?batch="+batch, "", &page, as["ann"]...); len(page.Items) != 1 || page.Items[0].Job != "zoe" ||
		page.Items[0].Summary.Outcomes != "AW" || page.Items[0].Trial {
		t.Errorf("of a batch: %+v", page.Items)
	}
	if got := listed("bob", ""); got != "3:AW:r1 " {
		t.Errorf("bob: %s", got)
	}
}

// What old submissions did is no news.
func TestRejudgesCauseNoAlert(t *testing.T) {
	web, as := serveRejudges(t, t.TempDir())
	putSum(t, web, as["ann"], "3")
	alerts := func() int {
		var page api.Page[api.Alert]
		if s := send(t, web, "GET", "/v1/alerts", "", &page, as["ann"]...); s != 200 {
			t.Fatal(s)
		}
		return len(page.Items)
	}

	body := `{"problem":"sum","language":"python","source":"memory"}`
	if s := send(t, web, "POST", "/v1/runs", body, nil, as["ann"]...); s != 200 || alerts() != 1 {
		t.Fatalf("%d, %d alerts", s, alerts())
	}
	var r api.Rejudge
	if s := send(t, web, "POST", "/v1/rejudges", `{"problem":"sum"}`, &r, as["ann"]...); s != 201 {
		t.Fatal(s)
	}
	if r = awaitRejudge(t, web, r.ID, as["ann"]); r.Judged != 1 || alerts() != 1 {
		t.Errorf("%+v, %d alerts", r, alerts())
	}
}

// A service that ends while a rejudge is applied, or opened, leaves no rejudge of which nobody knows whether it counts.
func TestRejudgeThatEndsWhileItIsApplied(t *testing.T) {
	dir, now := t.TempDir(), time.Now().UTC().Format(time.RFC3339)
	for _, tt := range []struct {
		state          string
		apply, discard int
		want           string
	}{
		{`"closed":true,"ended":"2026-01-01T00:00:00Z","rejudge":{"request":{},"applying":"2026-01-01T00:00:00Z"}`, 200, 409, "applied"},
		{`"closed":true,"ended":"2026-01-01T00:00:00Z","rejudge":{"request":{}}`, 200, 200, "ready"},
		{`"rejudge":{"request":{}}`, 409, 200, "discarded"},
	} {
		id := "aaaa"
		at := filepath.Join(dir, id)
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"state.json": `{"batch_id":"` + id + `","owner":"ann","created":"` + now + `","request":{},` +
			strings.ReplaceAll(tt.state, "2026-01-01T00:00:00Z", now) + `}`,
			"input.jsonl": "", "results.jsonl": ""} {
			if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}

		web, as := serveRejudges(t, dir)
		if tt.apply == 200 && tt.discard == 409 { // discard comes first: otherwise it would be refused as applied
			if s := send(t, web, "POST", "/v1/rejudges/"+id+"/discard", "", nil, as["ann"]...); s != tt.discard {
				t.Errorf("%s: discard: %d", tt.state, s)
			}
		}
		var r api.Rejudge
		if tt.want != "ready" {
			if s := send(t, web, "POST", "/v1/rejudges/"+id+"/apply", "", nil, as["ann"]...); s != tt.apply {
				t.Errorf("%s: apply: %d", tt.state, s)
			}
		}
		if s := send(t, web, "GET", "/v1/rejudges/"+id, "", &r, as["ann"]...); s != 200 || string(r.State) != tt.want {
			t.Errorf("%s: %d %+v", tt.state, s, r)
		}
		web.Close()
	}
}

// A run is run again with what is kept of its request, and with changes; what is not kept must be sent. Nobody runs
// what belongs to another key.
func TestRunAgain(t *testing.T) {
	web, as := serveRejudges(t, t.TempDir())
	putSum(t, web, as["ann"], "3")
	run := func(body string) (res api.Result) {
		t.Helper()
		if s := send(t, web, "POST", "/v1/runs", body, &res, as["ann"]...); s != 200 {
			t.Fatalf("%d %+v", s, res)
		}
		return res
	}
	whole := run(`{"language":"python","source":"x","stdin":"hello","limits":{"cpu":"3s"},"labels":{"project":"p"},"argv":["a"]}`)
	secret := run(`{"language":"python","source":"x","env":{"TOKEN":"s"},"files":[{"name":"f","content":"y"}]}`)
	judged := run(`{"problem":"sum","language":"python","source":"3"}`)

	for _, tt := range []struct {
		key, id, body string
		status        int
		says          string
	}{
		{"ann", whole.Run, `{}`, 200, `"stdout":"hello"`},
		{"ann", whole.Run, `{"stdin":"other"}`, 200, `"stdout":"other"`},
		{"ann", whole.Run, `{"stdin":"a","stdin":"b"}`, 400, ""},
		{"ann", whole.Run, `{"stdni":"a"}`, 400, "stdni"},
		{"ann", whole.Run, `[]`, 400, ""},
		{"ann", judged.Run, `{}`, 200, `"accepted":1`},
		{"ann", judged.Run, `{"source":"4"}`, 200, `"accepted":0`},
		{"ann", secret.Run, `{}`, 409, "env, files"},
		{"ann", secret.Run, `{"env":{}}`, 409, "whole: files"},
		{"ann", secret.Run, `{"env":{},"files":[]}`, 200, ""},
		{"bob", whole.Run, `{}`, 404, ""},
		{"root", whole.Run, `{}`, 404, ""},
		{"ann", "none", `{}`, 404, ""},
	} {
		header := append([]string{"Content-Type", "application/json"}, as[tt.key]...)
		status, text, _ := ask(t, "POST", web.URL+"/v1/runs/"+tt.id+"/again", tt.body, header...)
		if status != tt.status || !strings.Contains(text, tt.says) {
			t.Errorf("%s %s: %d %.300s", tt.key, tt.body, status, text)
		}
	}

	c := client.New(web.URL, strings.TrimPrefix(as["ann"][1], "Bearer "))
	changes := api.RunRequest{Run: api.Run{Stdin: api.Bytes("of Go")}}
	if res, err := c.RunAgain(t.Context(), whole.Run, changes); err != nil || string(res.Stdout) != "of Go" {
		t.Errorf("%v %+v", err, res)
	}
	j, err := c.OpenRejudge(t.Context(), api.RejudgeRequest{Problem: "sum"})
	if err != nil {
		t.Fatal(err)
	}
	awaitRejudge(t, web, j.ID, as["ann"])
	if p, err := c.RejudgeChanges(t.Context(), j.ID, 0, 10, true); err != nil || len(p.Items) == 0 {
		t.Errorf("%v %+v", err, p)
	}
	if j, err = c.ApplyRejudge(t.Context(), j.ID); err != nil || j.State != api.RejudgeApplied {
		t.Errorf("%v %+v", err, j)
	}

	var later api.Status
	if s := send(t, web, "POST", "/v1/runs/"+whole.Run+"/again?wait=false", `{}`, &later, as["ann"]...); s != 202 ||
		later.Run == "" || later.Run == whole.Run {
		t.Errorf("%d %+v", s, later)
	}
}
