package cms

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

// Each archive of testdata is a package, with what is understood of it, or the mistakes in it.
func TestPackages(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 3 {
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
			dir := filepath.Join(t.TempDir(), "demo")
			for _, f := range a.Files {
				file := filepath.Join(dir, f.Name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, f.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			tree, err := problem.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			p, err := Read(tree)
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
				t.Fatalf("%s: %v", want.Name, err)
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
