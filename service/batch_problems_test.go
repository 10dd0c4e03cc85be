package service

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
)

// Jobs of a batch name stored problems of their key: tests and answers do not travel with them. A package that
// gets the name later judges no job that was taken before.
func TestBatchNamesStoredProblems(t *testing.T) {
	agent, dir := &agentWithBlobs{blobs: map[string]string{}}, t.TempDir()
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	web := serveFake(t, agent.mux(t), func(c *Config) {
		c.Keys, c.Problems, c.ReadProblem, c.Batches, c.Grace = keys, t.TempDir(), readHere, dir, 50*time.Millisecond
	})
	put := func(name string, files ...string) (p api.StoredProblem) {
		if s := send(t, web, "PUT", "/v1/problems/"+name, zipped(t, files...), &p, as["ann"]...); s != 200 {
			t.Fatalf("put: %d %+v", s, p)
		}
		return p
	}

	large := strings.Repeat("large\n", 20<<10)
	sum := put("sum", "1.in", "1 2", "1.out", "THE-ANSWER", "2.in", large, "2.out", "4")
	put("later", "1.in", "x", "1.out", "y")

	path := openBatch(t, web, `{"defaults": {"language": "python", "limits": {"cpu": "1s"}}}`, as["ann"]...)
	lines := `{"id": "name", "problem": "sum", "source": "A"}
{"id": "digest", "problem": "` + sum.Digest + `", "source": "B"}
{"id": "replaced", "problem": "later", "source": "C"}
`
	add := func(path, lines, key string) (taken api.JobsTaken) {
		if s := send(t, web, "POST", path+"/jobs", lines, &taken, append([]string{"Content-Type", core.JSONLines}, as[key]...)...); s != 200 {
			t.Fatalf("%d: %+v", s, taken)
		}
		return taken
	}
	if got := add(path, lines, "ann"); got.Taken != 3 || got.RefusedTotal > 0 {
		t.Errorf("%+v", got)
	}
	if got := add(path, lines, "ann"); got.Repeated != 3 {
		t.Errorf("the same again: %+v", got)
	}

	for line, code := range map[string]api.Code{
		`{"id": "w1", "problem": "none", "source": ""}`:                           api.CodeNoProblem,
		`{"id": "w2", "problem": "sum", "source": "", "tests": [{"stdin": "1"}]}`: api.CodeBadRequest,
		`{"id": "w3", "problem": "sum"}`:                                          api.CodeBadRequest,
		`{"id": "w4", "problem": "../sum", "source": ""}`:                         api.CodeBadRequest,
		`{"id": "w5", "problem": "sum", "source": "", "network": "public"}`:       api.CodeForbidden,
	} {
		if got := add(path, line, "ann"); got.RefusedTotal != 1 || got.Refused[0].Error.Code != code {
			t.Errorf("%s: %+v, want %s", line, got, code)
		}
	}

	bobs := openBatch(t, web, `{"defaults": {"language": "python"}}`, as["bob"]...)
	if got := add(bobs, lines, "bob"); got.RefusedTotal != 3 || got.Refused[1].Error.Code != api.CodeNoProblem {
		t.Errorf("bob names problems of ann: %+v", got)
	}

	input, err := os.ReadFile(filepath.Join(dir, filepath.Base(path), "input.jsonl"))
	if err != nil || bytes.Contains(input, []byte("THE-ANSWER")) || !bytes.Contains(input, []byte(sum.Digest)) {
		t.Errorf("%v: %.500s", err, input)
	}

	put("later", "1.in", "x", "1.out", "another answer")
	g := web.Config.Handler.(*Gateway)
	g.batches.Store.Start(g.core.Stopping)
	t.Cleanup(func() { g.core.Stop(); g.batches.Store.Wait(); g.core.Wait() })
	send(t, web, "POST", path+"/close", "", nil, as["ann"]...)
	all, end := follow(t, web, path, "follow=true", as["ann"]...)
	if end == nil || end.Statuses[api.JobDone] != 2 || end.Statuses[api.JobRefused] != 1 {
		t.Fatalf("%+v", end)
	}

	for _, one := range all {
		switch {
		case one.ID == "replaced" && (one.Error == nil || one.Error.Code != api.CodeNoProblem):
			t.Errorf("a job whose problem was replaced: %+v", one)
		case one.ID != "replaced" && (one.Summary == nil || one.Summary.Tests != 2 || *one.Score != 1):
			t.Errorf("%s: %+v", one.ID, one)
		}
	}

	run := agent.last()
	if len(agent.runs) != 2 || len(run.Tests) != 2 || string(*run.Tests[0].Expected) != "THE-ANSWER" ||
		agent.blobs[run.Tests[1].StdinBlob] != large || run.Limits.CPU != 1e9 || run.KeepOutput == 0 {
		t.Errorf("%d runs, the last is %+v", len(agent.runs), run)
	}
}
