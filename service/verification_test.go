package service

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
)

// packageForVerify is a package with a submission in wrong_answer of this text.
func packageForVerify(t *testing.T, wrong string) string {
	t.Helper()
	return zipped(t, "problem.yaml",
		"name: X\nproblem_format_version: 2025-09\nuuid: 0c1bd2e4-0000-4000-8000-000000000001\nlimits: {time_limit: 2}\n",
		"data/secret/1.in", "1", "data/secret/1.ans", "2", "data/secret/2.in", "2", "data/secret/2.ans", "4",
		"submissions/accepted/a.py", "right", "submissions/wrong_answer/w.py", wrong, "submissions/accepted/c.cpp", "right")
}

// A key verifies its own packages, within its limits, and hears of each run.
func TestProblemsAreVerified(t *testing.T) {
	mux := http.NewServeMux()
	var runs atomic.Int64
	hold := make(chan struct{})
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}

		run, err := decode.Run(text)
		if err != nil {
			t.Error(err)
		}
		if string(run.Source) == "hold" {
			<-hold
		}

		runs.Add(1)
		res := api.Result{Verdict: api.OK}
		for _, test := range run.Tests {
			one := api.TestResult{ID: test.ID, Answer: api.Accepted, Result: api.Result{Verdict: api.OK, Stdout: api.Bytes("x")}}
			one.Result.Usage.CPU = api.Known(5e6, "")
			if string(run.Source) == "wrong" {
				one.Answer = api.WrongAnswer
			}
			res.Tests = append(res.Tests, one)
		}

		answerRun(w, r, res)
	})

	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	web := serveFake(t, mux, func(c *Config) { c.Keys, c.Problems, c.ReadProblem = keys, t.TempDir(), readHere })
	put := func(name, wrong string) {
		t.Helper()
		var stored api.StoredProblem
		if s := send(t, web, "PUT", "/v1/problems/"+name, packageForVerify(t, wrong), &stored, as["ann"]...); s != 200 {
			t.Fatalf("%d %+v", s, stored)
		}
	}

	put("good", "wrong")
	put("bad", "right")
	put("slow", "hold")

	var v api.Verification
	if s := send(t, web, "POST", "/v1/problems/good/verify", `{}`, &v, as["ann"]...); s != 200 || !v.OK || len(v.Submissions) != 3 ||
		len(v.NotRun) == 0 || v.TimeLimit == nil {
		t.Errorf("%d %+v", s, v)
	}
	if !strings.Contains(strings.Join(v.NotRun, "\n"), `no language "cpp"`) {
		t.Errorf("%q", v.NotRun)
	}

	v = api.Verification{}
	if s := send(t, web, "POST", "/v1/problems/bad/verify", `{"repeat":2,"longest":"3s"}`, &v, as["ann"]...); s != 200 || v.OK ||
		!strings.Contains(strings.Join(v.Mistakes, "\n"), "submissions/wrong_answer/w.py") {
		t.Errorf("%d %+v", s, v)
	}
	if n := runs.Load(); n != 2+4 {
		t.Errorf("%d runs", n)
	}

	// As lines: one after each run, the verification in the last.
	req, err := http.NewRequest("POST", web.URL+"/v1/problems/good/verify", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}

	req.Header.Set("Accept", core.JSONLines)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(as["ann"]); i += 2 {
		req.Header.Set(as["ann"][i], as["ann"][i+1])
	}

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	var lines []api.VerifyLine
	for s := bufio.NewScanner(res.Body); s.Scan(); {
		if len(s.Bytes()) == 0 {
			continue
		}
		var l api.VerifyLine
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		lines = append(lines, l)
	}

	if len(lines) != 3 || lines[0].Ended != 1 || lines[1].Ended != 2 || lines[1].Runs != 2 || !lines[2].End || lines[2].Verification == nil ||
		!lines[2].Verification.OK {
		t.Errorf("%+v", lines)
	}

	// Another key has no such problem; a key verifies one at a time; a wrong request changes nothing.
	for body, want := range map[string]int{`{"repeat":-1}`: 400, `{"repeat":101}`: 400, `{"longest":"-1s"}`: 400, `{"x":1}`: 400} {
		var p api.Problem
		if s := send(t, web, "POST", "/v1/problems/good/verify", body, &p, as["ann"]...); s != want || p.Detail == "" {
			t.Errorf("%s: %d %+v", body, s, p)
		}
	}

	var p api.Problem
	if s := send(t, web, "POST", "/v1/problems/good/verify", `{}`, &p, as["bob"]...); s != 404 || p.Code != api.CodeNoProblem {
		t.Errorf("another key: %d %+v", s, p)
	}

	before := runs.Load()
	first := make(chan int)
	go func() {
		first <- send(t, web, "POST", "/v1/problems/slow/verify", `{}`, &api.Verification{}, as["ann"]...)
	}()
	waitUntil(t, "its first run has ended", func() bool { return runs.Load() > before })
	p = api.Problem{}
	if s := send(t, web, "POST", "/v1/problems/good/verify", `{}`, &p, as["ann"]...); s != 429 || p.Code != api.CodeBusy {
		t.Errorf("a second one: %d %+v", s, p)
	}

	close(hold)
	if s := <-first; s != 200 {
		t.Errorf("the first one: %d", s)
	}
}
