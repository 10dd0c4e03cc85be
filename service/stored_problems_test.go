package service

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/client"
	"github.com/brig-sandbox/brig/service/problems"
)

// readHere reads a package in this process.
func readHere(_ context.Context, name string, archive, out *os.File) (problems.Parts, error) {
	again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", archive.Fd()))
	if err != nil {
		return problems.Parts{}, err
	}
	return problems.Read(name, again, out)
}

// zipped is a zip archive of files: their names and texts in turn.
func zipped(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An agentWithBlobs keeps blobs and the runs that it got.
type agentWithBlobs struct {
	mu    sync.Mutex
	blobs map[string]string
	sent  int // blobs
	runs  []api.Run
}

func (a *agentWithBlobs) mux(t *testing.T) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(text)) != r.PathValue("digest") {
			t.Errorf("blob %s: %v", r.PathValue("digest"), err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.blobs[r.PathValue("digest")] = string(text)
		a.sent++
		say(w, 200, struct{}{})
	})

	mux.HandleFunc("HEAD /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if _, has := a.blobs[r.PathValue("digest")]; !has {
			w.WriteHeader(404)
		}
	})

	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}

		run, err := decode.Run(text)
		if err != nil {
			t.Error(err)
		}

		a.mu.Lock()
		a.runs = append(a.runs, run)
		a.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(text))
		var res api.Result
		res.Verdict = api.OK
		for _, one := range run.Tests {
			res.Tests = append(res.Tests, api.TestResult{ID: one.ID, Answer: api.Accepted, Result: api.Result{Verdict: api.OK}})
		}

		summary := api.Summarize(len(run.Tests), res.Tests)
		res.Summary = &summary
		answerRun(w, r, res)
	})

	return mux
}

func (a *agentWithBlobs) last() api.Run {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.runs[len(a.runs)-1]
}

// serveProblems returns a service that stores problems for ann and bob.
func serveProblems(t *testing.T, a *agentWithBlobs, dir string, change func(*Config),
	more ...auth.Key) (*httptest.Server, map[string][]string) {
	t.Helper()
	keys, as := keysOf(t, append([]auth.Key{{Name: "ann"}, {Name: "bob"}}, more...)...)
	return serveFake(t, a.mux(t), func(c *Config) {
		c.Keys, c.Problems, c.ReadProblem = keys, dir, readHere
		if change != nil {
			change(c)
		}
	}), as
}

// GRD-18: a key judges by the problems that it has stored, and by no other key's.
func TestRunsAreJudgedByAProblem(t *testing.T) {
	a := &agentWithBlobs{blobs: map[string]string{}}
	dir := t.TempDir()
	web, as := serveProblems(t, a, dir, nil)
	long := strings.Repeat("a long line\n", 8<<10)
	var stored, got api.StoredProblem
	if s := send(t, web, "PUT", "/v1/problems/sum", zipped(t, "1.in", "1 2", "1.out", "THE-ANSWER", "2.in", long, "2.out", ""), &stored,
		as["ann"]...); s != 200 {
		t.Fatalf("put: %d %+v", s, stored)
	}
	if stored.Name != "sum" || stored.Tests != 2 || stored.Format != "tests" || !api.ProblemDigest(stored.Digest) || stored.Bytes == 0 ||
		!strings.Contains(string(stored.Manifest), `"1.in"`) {
		t.Errorf("stored %+v", stored)
	}

	for _, ref := range []string{"sum", stored.Digest} {
		if s := send(t, web, "GET", "/v1/problems/"+ref, "", &got, as["ann"]...); s != 200 || got.Digest != stored.Digest ||
			string(got.Manifest) != string(stored.Manifest) {
			t.Errorf("%s: %d %+v", ref, s, got)
		}
		for range 2 { // the blob is sent once
			var res api.Result
			body := fmt.Sprintf(`{"problem": %q, "language": "python", "source": "print(3)", "limits": {"cpu": "3s"}}`, ref)
			if s := send(t, web, "POST", "/v1/runs", body, &res, as["ann"]...); s != 200 || res.Summary == nil || res.Summary.Accepted != 2 {
				t.Errorf("%s: %d %+v", ref, s, res)
			}
		}
	}

	run := a.last()
	if len(run.Tests) != 2 || string(run.Tests[0].Stdin) != "1 2" || string(*run.Tests[0].Expected) != "THE-ANSWER" ||
		a.blobs[run.Tests[1].StdinBlob] != long ||
		run.Tests[1].Expected == nil || run.Limits.CPU != 3e9 || !run.Collect.None || string(run.Source) != "print(3)" {
		t.Errorf("the agent got %+v", run)
	}
	if a.sent != 1 {
		t.Errorf("%d blobs were sent", a.sent)
	}

	a.mu.Lock()
	clear(a.blobs) // the agent has evicted it
	a.mu.Unlock()
	var status api.Status
	if s := send(t, web, "POST", "/v1/runs?wait=false", `{"problem": "sum", "language": "python", "source": ""}`, &status,
		as["ann"]...); s != 202 {
		t.Errorf("async: %d", s)
	}

	var page api.Page[api.StoredProblem]
	if s := send(t, web, "GET", "/v1/problems", "", &page, as["bob"]...); s != 200 || len(page.Items) != 0 {
		t.Errorf("bob sees %+v", page.Items)
	}

	var p api.Problem
	for _, ref := range []string{"sum", stored.Digest} {
		if s := send(t, web, "POST", "/v1/runs", fmt.Sprintf(`{"problem": %q, "language": "python", "source": ""}`, ref), &p,
			as["bob"]...); s != 404 || p.Code != api.CodeNoProblem {
			t.Errorf("bob runs %s: %d %+v", ref, s, p)
		}
		if s := send(t, web, "GET", "/v1/problems/"+ref, "", &p, as["bob"]...); s != 404 || p.Code != api.CodeNoProblem {
			t.Errorf("bob reads %s: %d %+v", ref, s, p)
		}
	}

	if s := send(t, web, "DELETE", "/v1/problems/sum", "", &p, as["bob"]...); s != 404 {
		t.Errorf("bob removes it: %d", s)
	}

	again, as := serveProblems(t, a, dir, nil) // a restart
	if s := send(t, again, "GET", "/v1/problems", "", &page, as["ann"]...); s != 200 || len(page.Items) != 1 ||
		page.Items[0].Digest != stored.Digest || page.Items[0].Manifest != nil {
		t.Errorf("after a restart: %+v", page.Items)
	}
	if s := send(t, again, "DELETE", "/v1/problems/sum", "", nil, as["ann"]...); s != 204 {
		t.Errorf("removed: %d", s)
	}
	if s := send(t, again, "POST", "/v1/runs", `{"problem": "sum", "language": "python", "source": ""}`, &p, as["ann"]...); s != 404 ||
		p.Code != api.CodeNoProblem {
		t.Errorf("removed: %d %+v", s, p)
	}
}

// A request that contradicts its problem is refused, and names the field.
func TestAProblemExcludesFields(t *testing.T) {
	a := &agentWithBlobs{blobs: map[string]string{}}
	web, as := serveProblems(t, a, t.TempDir(), nil)
	if s := send(t, web, "PUT", "/v1/problems/p", zipped(t, "1.in", "", "1.out", ""), nil, as["ann"]...); s != 200 {
		t.Fatal(s)
	}

	for field, value := range map[string]string{
		"tests": `[{"stdin": ""}]`, "compare": `{"how": "exact"}`, "check": `{"protocol": "exit", "language": "python", "source": ""}`,
		"interactor": `{"protocol": "kattis", "language": "python", "source": ""}`, "groups": `[{"id": "a"}]`, "passes": `2`, "stdin": `"x"`,
		"timeline": `{"every": "1s"}`, "call": `{"fn": "f"}`, "stdin_blob": `"` + strings.Repeat("a", 64) + `"`,
	} {
		var p api.Problem
		if s := send(t, web, "POST", "/v1/runs", fmt.Sprintf(`{"problem": "p", "language": "python", "source": "", %q: %s}`, field, value), &p,
			as["ann"]...); s != 400 || !strings.Contains(p.Detail, "problem and "+field+" are both set") {
			t.Errorf("%s: %d %+v", field, s, p)
		}
	}

	for body, want := range map[string]string{
		`{"problem": "p", "image": "i", "argv": ["x"]}`:                         "set language and source",
		`{"problem": "../p", "language": "python", "source": ""}`:               "write a name",
		`{"problm": "p", "language": "python", "source": ""}`:                   "did you mean problem?",
		`{"problem": "p", "language": "python", "source": "", "limit": {}}`:     "did you mean limits?",
		`{"problem": "p", "language": "python", "source": "", "wall": "1s"}`:    "put it into limits",
		`{"problem": "p", "language": "python", "source": "", "limits": {"x"}}`: "decode run",
	} {
		var p api.Problem
		if s := send(t, web, "POST", "/v1/runs", body, &p, as["ann"]...); s != 400 || !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %d %+v", body, s, p)
		}
	}

	if len(a.runs) != 0 {
		t.Errorf("the agent got %+v", a.runs)
	}

	var p api.Problem
	if s := send(t, web, "POST", "/execute", `{"problem": "p", "code": ""}`, &p, as["ann"]...); s != 400 ||
		!strings.Contains(p.Detail, "unknown field") {
		t.Errorf("execute: %d %+v", s, p)
	}
}

// A package that is wrong, too large or too much changes nothing: what has its name stays.
func TestAWrongPackageChangesNothing(t *testing.T) {
	a := &agentWithBlobs{blobs: map[string]string{}}
	web, as := serveProblems(t, a, t.TempDir(), func(c *Config) { c.MaxBlob, c.MaxProblems = 1<<20, 1<<20 },
		auth.Key{Name: "few", Problems: 1}, auth.Key{Name: "small", ProblemBytes: 1000}, auth.Key{Name: "noblob", Blobs: 1000})
	good := zipped(t, "1.in", "", "1.out", "")
	var stored, got api.StoredProblem
	for key := range as {
		if s := send(t, web, "PUT", "/v1/problems/p", good, &stored, as[key]...); key != "small" && s != 200 {
			t.Fatalf("%s: %d", key, s)
		}
	}

	for _, tt := range []struct {
		name, key, path, body string
		status                int
		code                  api.Code
		detail                string
	}{
		{"no archive", "ann", "p", "PK\x03\x04", 422, api.CodeBadProblem, "p: the archive is incomplete, its end is missing"},
		{"nothing", "ann", "p", "", 422, api.CodeBadProblem, "no archive"},
		{"mistakes", "ann", "p",
			zipped(t, "problem.yaml", "name: X\nproblem_format_version: 2025-09\nuuid: 0c1bd2e4-0000-4000-8000-000000000001\nx: 1\n",
				"data/secret/1.in", "", "data/secret/1.ans", "", "submissions/accepted/a.py", ""), 422, api.CodeBadProblem,
			`problem.yaml:4: unknown key "x" (Problem metadata)`},
		{"outside", "ann", "p", zipped(t, "../1.in", "", "1.out", ""), 422, api.CodeBadProblem, "../1.in"},
		{"a name", "ann", "..x", good, 400, api.CodeBadRequest, "write a name"},
		{"a digest", "ann", stored.Digest, good, 400, api.CodeBadRequest, "write a name"},
		{"too large", "ann", "p", good + strings.Repeat("x", 1<<20), 413, api.CodeTooLarge, "--max-blob"},
		{"too many", "few", "q", good, 400, api.CodeAboveCeiling, "limit is 1"},
		{"too many bytes", "small", "q", zipped(t, "1.in", random(2000), "1.out", ""), 400, api.CodeAboveCeiling, "problem_bytes"},
		{"too large a share", "ann", "q", zipped(t, "1.in", random(700<<10), "1.out", ""), 400, api.CodeAboveCeiling, "kept for other keys"},
		{"too large blobs", "noblob", "p", zipped(t, "1.in", strings.Repeat("x", 65<<10), "1.out", ""), 413,
			api.CodeTooLarge, "blobs of the key"},
	} {
		var p api.Problem
		if s := send(t, web, "PUT", "/v1/problems/"+tt.path, tt.body, &p, as[tt.key]...); s != tt.status || p.Code != tt.code ||
			!strings.Contains(p.Detail, tt.detail) {
			t.Errorf("%s: %d %+v", tt.name, s, p)
		}
		if s := send(t, web, "GET", "/v1/problems/p", "", &got, as["ann"]...); s != 200 || got.Digest != stored.Digest {
			t.Errorf("%s: then %d %+v", tt.name, s, got)
		}
	}

	if s := send(t, web, "PUT", "/v1/problems/p", good, nil, as["few"]...); s != 200 {
		t.Errorf("the only one is replaced: %d", s)
	}

	none := serveFake(t, a.mux(t), nil)
	for _, path := range []string{"/v1/problems", "/v1/problems/p"} {
		var p api.Problem
		if s := send(t, none, "GET", path, "", &p); s != 422 || p.Code != api.CodeUnsupported {
			t.Errorf("without a directory: %d %+v", s, p)
		}
	}
}

// random is a text that no archive makes smaller.
func random(n int) string {
	var b strings.Builder
	for sum := sha256.Sum256(nil); b.Len() < n; sum = sha256.Sum256(sum[:]) {
		b.Write(sum[:])
	}
	return b.String()[:n]
}

// Large runs of problems share the memory of large bodies, and return it.
func TestRunsOfProblemsReserveMemory(t *testing.T) {
	a := &agentWithBlobs{blobs: map[string]string{}}
	web, as := serveProblems(t, a, t.TempDir(), func(c *Config) { c.MaxBody = 1 << 20 })
	files := []string{}
	for i := range 20 {
		files = append(files, fmt.Sprintf("%d.in", i), strings.Repeat("x", 60<<10), fmt.Sprintf("%d.out", i), "")
	}

	if s := send(t, web, "PUT", "/v1/problems/p", zipped(t, files...), nil, as["ann"]...); s != 200 {
		t.Fatal(s)
	}

	g := web.Config.Handler.(*Gateway)
	for range 8 { // four of them would fill the memory
		if s := send(t, web, "POST", "/v1/runs", `{"problem": "p", "language": "python", "source": ""}`, nil, as["ann"]...); s != 200 {
			t.Errorf("a run: %d", s)
		}
	}

	if n := g.core.BodyQuota.Total(); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}

	for i := range 80 {
		files = append(files, fmt.Sprintf("%d.in", 100+i), strings.Repeat("x", 60<<10), fmt.Sprintf("%d.out", 100+i), "")
	}

	var p api.Problem
	if s := send(t, web, "PUT", "/v1/problems/p", zipped(t, files...), &p, as["ann"]...); s != 413 ||
		!strings.Contains(p.Detail, "--max-body") {
		t.Errorf("more than a run may have: %d %+v", s, p)
	}
}

// The Go client stores problems and runs by them.
func TestRemoteProblems(t *testing.T) {
	a := &agentWithBlobs{blobs: map[string]string{}}
	web, as := serveProblems(t, a, t.TempDir(), nil)
	ann := client.New(web.URL, as["ann"][1][len("Bearer "):])
	stored, err := ann.PutProblem(t.Context(), "p", strings.NewReader(zipped(t, "1.in", "", "1.out", "")))
	if err != nil || stored.Tests != 1 {
		t.Fatalf("%+v, %v", stored, err)
	}
	if res, err := ann.RunRequest(t.Context(),
		api.RunRequest{Problem: "p", Run: api.Run{Language: "python", Source: api.Bytes("x")}}); err != nil || res.Summary == nil ||
		res.Summary.Tests != 1 {
		t.Errorf("%+v, %v", res.Summary, err)
	}
	if p, err := ann.Problem(t.Context(), stored.Digest); err != nil || p.Name != "p" || p.Manifest == nil {
		t.Errorf("%+v, %v", p, err)
	}
	if page, err := ann.Problems(t.Context()); err != nil || len(page.Items) != 1 {
		t.Errorf("%+v, %v", page, err)
	}

	var p *api.Problem
	if _, err := ann.PutProblem(t.Context(), "p", strings.NewReader("no archive")); !errors.As(err, &p) || p.Code != api.CodeBadProblem {
		t.Error(err)
	}
	if err := ann.DeleteProblem(t.Context(), "p"); err != nil {
		t.Error(err)
	}
	if err := ann.DeleteProblem(t.Context(), "p"); !errors.As(err, &p) || p.Code != api.CodeNoProblem {
		t.Error(err)
	}
}
