package kattis

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/brig-sandbox/brig/problem"
)

var update = flag.Bool("update", false, "write what the reader understands into testdata")

// unpacked writes the files of an archive below a new directory, and opens it. A text that begins with
// "-> " is a link.
func unpacked(t testing.TB, a *txtar.Archive) *problem.Tree {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "demo")
	for _, f := range a.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(string(f.Data), "-> "); link {
			err = os.Symlink(strings.TrimSpace(target), name)
		} else {
			err = os.WriteFile(name, f.Data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tree, err := problem.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

// Each archive of testdata is a package that shows rules of one version, with what is understood of it,
// or the mistakes in it.
func TestPackages(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d packages, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			last := len(a.Files) - 1
			want := a.Files[last]
			a.Files = a.Files[:last]
			p, err := Read(unpacked(t, a))
			got := ""
			switch want.Name {
			case "MISTAKES":
				if err == nil {
					t.Fatal("it has no mistake")
				}
				got = err.Error() + "\n"
			case "UNDERSTOOD":
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.MarshalIndent(p, "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				got = string(text) + "\n"
			default:
				t.Fatalf("the last file is %s", want.Name)
			}
			if got == string(want.Data) {
				return
			}
			if *update {
				a.Files = append(a.Files, txtar.File{Name: want.Name, Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("it is\n%s\nwant\n%s", got, want.Data)
		})
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"accepted", "accepted/a.py", true}, {"accepted/*", "accepted/a.py", true}, {"accepted/*", "accepted/d/x.py", true}, {"*", "accepted/a.py", true},
		{"accepted/a", "accepted/a.py", false}, {"*.py", "accepted/a.py", false}, {"accepted/{a,b}.{py,cpp}", "accepted/b.cpp", true},
		{"accepted/{a,b}.{py,cpp}", "accepted/c.cpp", false}, {"secret/*-hard", "secret/1-hard", true}, {"secret/*-hard", "secret/g/1-hard", false},
		{"secret/group1", "secret/group1/1", true}, {"secret/group1", "secret/group10/1", false}, {"{a", "a", false}, {"[a]", "a", false}, {"a**", "ab", false},
		{strings.Repeat("{a,b}", 40), "a", false},
	} {
		if got := Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Match(%.40q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

// No YAML of a stranger makes the reader panic.
func FuzzMetadata(f *testing.F) {
	f.Add("problem_format_version: 2025-09\nname: {en: A, sv: B}\ntype: [scoring, interactive]\nlimits: {time_limit: 2, time_multipliers: {ac_to_time_limit: 3}}\nconstants: {a: 1, b: {value: 2, tex: x}}\n", "a: &a [*a]\npermitted: *a\n")
	f.Add("a: &a {b: *a}\nlimits: *a\n", "accepted/*: {permitted: [AC], secret/1: {required: [TLE]}}\n")
	f.Fuzz(func(t *testing.T, metadata, submissions string) {
		a := &txtar.Archive{Files: []txtar.File{
			{Name: "problem.yaml", Data: []byte(metadata)}, {Name: "submissions/submissions.yaml", Data: []byte(submissions)},
			{Name: "submissions/accepted/a.py"}, {Name: "data/secret/1.in"}, {Name: "data/secret/1.ans"}, {Name: "data/secret/test_group.yaml", Data: []byte(submissions)},
		}}
		for i := range a.Files {
			if strings.HasPrefix(string(a.Files[i].Data), "-> ") {
				return
			}
		}
		Read(unpacked(t, a))
	})
}
