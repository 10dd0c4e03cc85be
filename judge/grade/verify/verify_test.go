package verify_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/verify"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/problemtest"
)

// A shell executes what the tests below need of one: cat of a file, and a program that is right.
type shell struct {
	maximum   int          // bytes of files of one run
	cpu, wall api.Duration // most of one run
}

func (*shell) Language(_ context.Context, name string) (api.Language, error) {
	if name != "bash" {
		return api.Language{}, api.Refuse(api.CodeNoLanguage, "no %s", name)
	}
	return api.Language{Name: name}, nil
}

func (s *shell) Execute(_ context.Context, r api.Run, _ func()) (api.Result, *api.Error) {
	res := api.Result{Verdict: api.OK}
	files, size := map[string]api.Bytes{}, 0
	for _, f := range r.Files {
		files[f.Name] = f.Content
		size += len(f.Content)
	}

	s.maximum = max(s.maximum, size)
	s.cpu, s.wall = max(s.cpu, r.Limits.CPU), max(s.wall, r.Limits.Wall)

	for _, t := range r.Tests {
		out := *t.Expected
		if len(t.Args) > 0 {
			out = files[t.Args[0]]
		}
		if string(r.Source) == "wrong" {
			out = api.Bytes("?")
		}

		one := api.TestResult{ID: t.ID, Result: api.Result{Verdict: api.OK}}
		one.Result.Usage.CPU = api.Known(1e6, "")
		ok, difference, err := judge.Accepts(r.Compare, *t.Expected, out)
		if err != nil {
			return res, api.Refuse(api.CodeCheckFailed, "%w", err)
		}
		if one.Answer, one.Difference = api.Accepted, difference; !ok {
			one.Answer = api.WrongAnswer
		}

		res.Tests = append(res.Tests, one)
	}

	return res, nil
}

// A verification asks for no more than the agent allows, unless the user asks for more.
func TestLongest(t *testing.T) {
	p := &problem.Problem{Format: "x", Compare: new(problem.Builtin),
		Limits: problem.Limits{Timing: problem.Timing{Accepted: 2, TooSlow: 1.5, Resolution: 1e9}},
		Jury: []problem.Jury{{Program: problem.Program{Main: "right.sh", Files: []string{"right.sh"}, Language: "bash"}, Path: "right.sh",
			Expect: []problem.Expectation{{Lower: true}}}}}
	l := grade.Loader{Problem: p, Tree: problemtest.Tree(t, map[string]string{"right.sh": "cat"})}
	for _, tt := range []struct {
		ceiling            api.Limits
		asked, cpu, longer api.Duration
	}{
		{api.Limits{}, 0, 14e9, 30e9}, {api.DefaultCeiling(), 0, 14e9, 30e9}, {api.Limits{CPU: 10e9}, 0, 10e9, 30e9},
		{api.Limits{CPU: 10e9, Wall: 10e9}, 0, 9e9, 10e9}, {api.Limits{Wall: 1e9}, 0, 5e8, 1e9},
		{api.Limits{CPU: 10e9, Wall: 10e9}, 10e9, 10e9, 10e9}, {api.Limits{CPU: 10e9, Wall: 10e9}, 12e9, 12e9, 12e9},
	} {
		x := new(shell)
		if _, err := verify.Package(t.Context(), x, l, api.Run{}, verify.Options{Longest: tt.asked, Ceiling: tt.ceiling, Repeat: 1}); err != nil {
			t.Fatal(err)
		}
		if x.cpu != tt.cpu || x.wall != tt.longer {
			t.Errorf("%+v, %s asked for: %s of processor time and %s in all, want %s and %s", tt.ceiling, tt.asked, x.cpu, x.wall, tt.cpu, tt.longer)
		}
	}
}

func TestPackage(t *testing.T) {
	dir := t.TempDir()
	texts := map[string]string{"right.sh": "cat", "wrong.sh": "wrong", "x.py": ""}
	p := &problem.Problem{Format: "x", Compare: new(problem.Builtin),
		Limits: problem.Limits{Timing: problem.Timing{Accepted: 2, TooSlow: 1.5, Resolution: 1e9}}}
	for i := range 90 { // together more than one run has of outputs
		name := fmt.Sprint(i)
		texts[name] = strings.Repeat(name+"\n", 60<<10/(len(name)+1))
		p.Tests = append(p.Tests, problem.Test{ID: name, Answer: name})
	}

	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	accepted := problem.Expectation{Permitted: []string{"AC"}, Lower: true}
	for file, e := range map[string]problem.Expectation{"right.sh": accepted, "wrong.sh": {Required: []string{"WA"}}, "x.py": accepted} {
		language := map[string]string{".sh": "bash", ".py": "python"}[filepath.Ext(file)]
		p.Jury = append(p.Jury,
			problem.Jury{Program: problem.Program{Name: file, Main: file, Files: []string{file}, Language: language}, Path: file,
				Expect: []problem.Expectation{e}})
	}

	tree, err := problem.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()

	l := grade.Loader{Problem: p, Tree: tree,
		Put: func(file string, _ []byte) (string, error) { return "", fmt.Errorf("%s became a blob", file) }}
	verified := func() api.Verification {
		t.Helper()
		common, err := l.Common()
		if err != nil {
			t.Fatal(err)
		}

		x := new(shell)
		ended := 0
		got, err := verify.Package(t.Context(), x, l, common,
			verify.Options{Longest: verify.DefaultLongest, Repeat: 1, Progress: func(runs, _ int) (func(int) (func(), func()), func()) {
				return func(int) (func(), func()) { return func() {}, func() { ended++ } }, func() {}
			}})
		if err != nil {
			t.Fatal(err)
		}
		if x.maximum > 5<<20 || x.maximum < 3<<20 {
			t.Errorf("a run has %d bytes of outputs", x.maximum)
		}
		if ended != 4 { // the right one three times: a limit follows from it
			t.Errorf("%d runs were shown", ended)
		}
		return got
	}

	got := verified()
	if !got.OK || len(got.Submissions) != 3 || len(got.NotRun) != 1 || !strings.Contains(got.NotRun[0], `no language "python"`) ||
		got.TimeLimit == nil || got.TimeLimit.Limit != 1e9 {
		t.Errorf("%+v", got)
	}

	for i, j := range p.Jury {
		if j.Path == "wrong.sh" {
			p.Jury[i].Expect = []problem.Expectation{{Permitted: []string{"AC"}}}
		}
	}

	if got = verified(); got.OK || len(got.Mistakes) != 1 || !strings.HasPrefix(got.Mistakes[0], "wrong.sh: ") {
		t.Errorf("%+v", got)
	}
}
