package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/format"
	"github.com/brig-sandbox/brig/judge/problem/problemtest"
)

// packages calls do for each package in the testdata of the readers that can be read.
func packages(t *testing.T, do func(t *testing.T, p *problem.Problem, tree *problem.Tree)) {
	t.Helper()
	names, err := filepath.Glob("../*/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}

	read := 0
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}

		last := len(a.Files) - 1
		if a.Files[last].Name != "UNDERSTOOD" {
			continue
		}

		a.Files = a.Files[:last]
		read++
		t.Run(strings.TrimPrefix(name, "../"), func(t *testing.T) {
			p, tree, err := format.Read(problemtest.Unpack(t, a))
			if err != nil {
				t.Fatal(err)
			}
			do(t, p, tree)
		})
	}

	if read < 10 {
		t.Errorf("%d packages", read)
	}
}

// again reads what was written.
func again(t *testing.T, dir string) (*problem.Problem, *problem.Tree) {
	t.Helper()
	whole, err := problem.Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { whole.Close() })
	p, tree, err := format.Read(whole)
	if err != nil && strings.Count(err.Error(), "\n") == 1 && strings.Contains(err.Error(), "there is no accepted submission") {
		if err := os.MkdirAll(filepath.Join(dir, "submissions", "accepted"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "submissions", "accepted", "added.py"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return again(t, dir)
	}

	if err != nil {
		t.Fatal(err)
	}
	return p, tree
}

// tests are the contents of the tests, in the order of their contents.
func tests(t *testing.T, p *problem.Problem, tree *problem.Tree) []string {
	t.Helper()
	var all []string
	for _, one := range p.Tests {
		text := ""
		for _, name := range []string{one.Input, one.Answer} {
			var content []byte
			if name != "" {
				var err error
				if content, err = tree.Read(name, maxFile); err != nil {
					t.Fatal(err)
				}
			}
			if one.Text {
				content = problem.UnixLines(content)
			}
			text += fmt.Sprintf("%q ", content)
		}

		for _, name := range slices.Sorted(maps.Keys(one.Files)) {
			content, err := tree.Read(one.Files[name], maxFile)
			if err != nil {
				t.Fatal(err)
			}
			text += fmt.Sprintf("%s %q ", name, content)
		}

		all = append(all, text)
	}

	slices.Sort(all)
	return all
}

// points are those of each group that has some, with the number of its tests and what it requires, in their
// order.
func points(p *problem.Problem) []string {
	var all []string
	members := p.Members()
	at := map[string]string{}
	for _, g := range p.Groups {
		n := len(members[g.ID])
		if n == 0 || len(g.Groups) > 0 || g.ID == "sample" && pointsOf(g, n) == 0 {
			at[g.ID] = g.ID
			continue
		}
		var requires []string
		for _, id := range g.Requires {
			requires = append(requires, at[id])
		}
		at[g.ID] = fmt.Sprint("group ", len(all)+1)
		all = append(all, fmt.Sprintf("%d tests, %v points, requires %v", n, pointsOf(g, n), requires))
	}

	return all
}

// What can be written as a package of Kattis means the same when it is read again; what cannot is an error
// that says why, and nothing is written.
func TestPackagesOfKattisMeanTheSame(t *testing.T) {
	written, refused := 0, 0
	packages(t, func(t *testing.T, p *problem.Problem, tree *problem.Tree) {
		dir := filepath.Join(t.TempDir(), "out")
		names, _, err := Convert(t.Context(), p, tree, Kattis, dir)
		if err != nil {
			refused++
			if _, stat := os.Stat(dir); !errors.Is(stat, fs.ErrNotExist) || !strings.Contains(err.Error(), "(conversion)") {
				t.Errorf("refused with %v, and the directory: %v", err, stat)
			}
			return
		}

		written++
		q, files := again(t, dir)
		if q.Format != "kattis 2025-09" || len(names) == 0 {
			t.Errorf("it is %s of %q", q.Format, names)
		}
		if got, want := tests(t, q, files), tests(t, p, tree); !slices.Equal(got, want) {
			t.Errorf("tests %q\nwant %q", got, want)
		}
		if p.Scoring {
			if got, want := points(q), points(p); !slices.Equal(got, want) {
				t.Errorf("groups %q\nwant %q", got, want)
			}
		}
		if q.Limits.Time != p.Limits.Time || q.Limits.Memory != p.Limits.Memory || q.Scoring != p.Scoring || q.Interactive != p.Interactive ||
			(q.Checker == nil) != (p.Checker == nil) {
			t.Errorf("it is %+v\nwant %+v", q, p)
		}

		for _, j := range p.Jury {
			if e, ok := whole(j); ok && j.Skip == "" && !e.Partial && !slices.ContainsFunc(q.Jury, func(k problem.Jury) bool {
				f, _ := whole(k)
				return slices.Equal(e.Permitted, f.Permitted) && slices.Equal(e.Required, f.Required) && filepath.Base(j.Main) == filepath.Base(k.Main)
			}) {
				t.Errorf("submission %s with %+v is none of %+v", j.Path, e, q.Jury)
			}
		}
	})

	if written < 5 || refused < 3 {
		t.Errorf("%d packages were written, and %d refused", written, refused)
	}
}

// Tests alone are in their order, and a problem that needs more is refused.
func TestDirectoriesOfTests(t *testing.T) {
	written, refused := 0, 0
	packages(t, func(t *testing.T, p *problem.Problem, tree *problem.Tree) {
		dir := filepath.Join(t.TempDir(), "out")
		names, warnings, err := Convert(t.Context(), p, tree, Directory, dir)
		if err != nil {
			refused++
			return
		}

		written++
		q, files := again(t, dir)
		if q.Format != "tests" || len(names) != 2*len(p.Tests) || len(q.Tests) != len(p.Tests) {
			t.Fatalf("it is %s with %d tests of %q", q.Format, len(q.Tests), names)
		}
		if got, want := tests(t, q, files), tests(t, p, tree); !slices.Equal(got, want) {
			t.Errorf("tests %q\nwant %q", got, want)
		}

		for i, one := range q.Tests {
			if p.Tests[i].Input == "" {
				continue
			}
			a, _ := files.Read(one.Input, maxFile)
			b, _ := tree.Read(p.Tests[i].Input, maxFile)
			if p.Tests[i].Text {
				b = problem.UnixLines(b)
			}
			if string(a) != string(b) {
				t.Errorf("test %d is %s", i+1, one.ID)
			}
		}

		if p.Limits.Memory > 0 &&
			!slices.ContainsFunc(warnings, func(f problem.Finding) bool { return strings.Contains(f.Text, "the limits are left out") }) {
			t.Errorf("no warning about the limits: %v", warnings)
		}
	})

	if written < 5 || refused < 3 {
		t.Errorf("%d packages were written, and %d refused", written, refused)
	}
}

// Submissions that read or write named files would fail with a format that has only stdin and stdout: that is
// an error, which names the files.
func TestNamedFilesAreNotLost(t *testing.T) {
	packages(t, func(t *testing.T, p *problem.Problem, tree *problem.Tree) {
		if p.InputFile == "" && p.OutputFile == "" {
			return
		}
		for _, to := range Formats() {
			_, _, err := Convert(t.Context(), p, tree, to, filepath.Join(t.TempDir(), "out"))
			if err == nil || !strings.Contains(err.Error(), "read "+p.InputFile+" and write "+p.OutputFile) {
				t.Errorf("as %s: %v", to, err)
			}
		}
	})

	one := &problem.Problem{Format: "tests", Tests: []problem.Test{{ID: "1", Files: map[string]string{"words": "words"}}}}
	if _, _, err := Convert(t.Context(), one, new(problem.Tree), Directory, filepath.Join(t.TempDir(), "out")); err == nil ||
		!strings.Contains(err.Error(), "files of its own") {
		t.Errorf("files of a test: %v", err)
	}
}

// A directory that has files is left as it is.
func TestNothingIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"in/1.in": "1", "in/1.ans": "1", "out/mine": "mine"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	whole, err := problem.Open(filepath.Join(dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()

	p, tree, err := format.Read(whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Convert(t.Context(), p, tree, Kattis, filepath.Join(dir, "out")); err == nil {
		t.Error("a directory with a file was replaced")
	}

	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(errors.New("interrupted"))
	if _, _, err := Convert(ctx, p, tree, Kattis, filepath.Join(dir, "more")); err == nil || err.Error() != "interrupted" {
		t.Errorf("%v", err)
	}

	left, err := os.ReadDir(dir)
	if text, err := os.ReadFile(filepath.Join(dir, "out", "mine")); string(text) != "mine" || err != nil || len(left) != 2 {
		t.Errorf("there are %v, and the file has %q, %v", left, text, err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
