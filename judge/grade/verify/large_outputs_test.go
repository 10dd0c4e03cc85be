package verify_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/verify"
	"github.com/brig-sandbox/brig/judge/problem"
)

// A room accepts everything, and checks that the files of a run fit into its limits.
type room struct {
	t      *testing.T
	sizes  map[string]int // of the blobs, by digest
	judged map[string]int // how often the whole answer of a test was printed, by id
}

func (*room) Language(_ context.Context, name string) (api.Language, error) {
	return api.Language{Name: name}, nil
}

func (m *room) Execute(_ context.Context, r api.Run, _ func()) (api.Result, *api.Error) {
	usual := api.Defaults()
	var all, longest api.Size
	sizes := map[string]int{}
	for _, f := range r.Files {
		sizes[f.Name] = len(f.Content) + m.sizes[f.Blob]
		all += api.Size(sizes[f.Name])
		longest = max(longest, api.Size(sizes[f.Name]))
	}

	if scratch := max(r.Limits.Scratch, usual.Scratch); all > scratch-usual.Scratch/2 {
		m.t.Errorf("a run has %s of files, and %s of scratch", all, scratch)
	}
	if output := max(r.Limits.Output, usual.Output); longest > output {
		m.t.Errorf("a run prints %s, and its limit is %s", longest, output)
	}

	res := api.Result{Verdict: api.OK}
	for _, t := range r.Tests {
		one := api.TestResult{ID: t.ID, Answer: api.Accepted, Result: api.Result{Verdict: api.OK}}
		if len(t.Args) > 0 && sizes[t.Args[0]] > 4<<20 {
			m.judged[t.ID]++
		}
		res.Tests = append(res.Tests, one)
	}

	return res, nil
}

// Answers that have more together than the scratch limit, and one that has more than the limit of output, are judged
// (D4 of the review from outside).
func TestLargeOutputs(t *testing.T) {
	dir := t.TempDir()
	checker := &problem.Program{Main: "check.sh", Files: []string{"check.sh"}, Language: "bash"}
	p := &problem.Problem{Format: "kattis 2025-09", Checker: checker,
		Limits: problem.Limits{Timing: problem.Timing{Accepted: 2, TooSlow: 1.5, Resolution: 1e9}}}
	for i := range 14 {
		name, size := fmt.Sprint(i), 5<<20
		if i == 13 {
			size = 33 << 20
		}
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Tests = append(p.Tests, problem.Test{ID: name, Answer: name})
	}
	if err := os.WriteFile(filepath.Join(dir, "check.sh"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	tree, err := problem.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()

	m := &room{t: t, sizes: map[string]int{}, judged: map[string]int{}}
	l := grade.Loader{Problem: p, Tree: tree, Put: func(file string, content []byte) (string, error) {
		digest := fmt.Sprintf("%s of %d", file, len(content))
		m.sizes[digest] = len(content)
		return digest, nil
	}}
	common, err := l.Common()
	if err != nil {
		t.Fatal(err)
	}

	options := verify.Options{Longest: verify.DefaultLongest, Repeat: 1}
	if _, err := verify.Package(t.Context(), m, l, common, options); err != nil {
		t.Fatal(err)
	}

	for _, test := range p.Tests {
		if m.judged[test.ID] == 0 {
			t.Errorf("the answer of test %s was not judged", test.ID)
		}
	}
}
