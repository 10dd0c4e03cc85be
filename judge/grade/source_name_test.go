package grade

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A program of one file in an interpreted language begins from a template, which expects the language's
// own name of the source.
func TestSourceNamesOfOneFile(t *testing.T) {
	all := []api.Language{{Name: "python", Extensions: []string{"py"}}, {Name: "java", CompileTier: "compile"}}
	for _, tt := range []struct {
		language, name string
		files          int
		ofTest         string // a file of a test
		want           string
	}{
		{"python", "ann.py", 0, "", ""}, {"python", "ann.py", 1, "", "ann.py"}, {"java", "Ann.java", 0, "", "Ann.java"},
		{"unknown", "a.x", 0, "", "a.x"},
		{"python", "ann.py", 0, "main.txt", ""}, {"python", "ann.py", 0, "main.py", "ann.py"},
	} {
		if got := SourceNameIn(all, tt.language, tt.name, tt.files, []api.Test{{}, {Files: []api.File{{Name: tt.ofTest}}}}); got != tt.want {
			t.Errorf("%s of %s with %d files: %q; want %q", tt.name, tt.language, tt.files, got, tt.want)
		}
	}
}
