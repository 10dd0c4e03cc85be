// Package problemtest tests the readers of problem packages.
package problemtest

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/brig-sandbox/brig/judge/problem"
)

var update = flag.Bool("update", false, "write what the reader understands into testdata")

// Packages reads each archive of testdata, of which there must be at least so many. Its last file is
// UNDERSTOOD, what the reader understands of the package as JSON, or MISTAKES, the error.
func Packages[P any](t *testing.T, read func(*problem.Tree) (P, error), minimum int) {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < minimum {
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
			p, err := read(Unpack(t, a))
			got := ""
			switch {
			case want.Name == "MISTAKES" && err != nil:
				got = err.Error() + "\n"
			case want.Name == "UNDERSTOOD" && err == nil:
				text, err := json.MarshalIndent(p, "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				got = string(text) + "\n"
			default:
				t.Fatalf("the last file is %s, and the reader returns %v", want.Name, err)
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

// Tree is Unpack of files by their names.
func Tree(t testing.TB, files map[string]string) *problem.Tree {
	t.Helper()
	a := new(txtar.Archive)
	for name, text := range files {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	return Unpack(t, a)
}

// Unpack writes the files of an archive below a new directory, and opens it. A text that begins with
// "-> " is a link.
func Unpack(t testing.TB, a *txtar.Archive) *problem.Tree {
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
