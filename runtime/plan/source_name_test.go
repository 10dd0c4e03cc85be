package plan

import (
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A compiler gets a name into which it reads nothing, and its author's name is in what it writes.
func TestNamesThatCompilersGet(t *testing.T) {
	pl := allLanguages(t)
	for _, tt := range []struct{ language, given, want string }{
		{"rust", "sol.rs", "sol.rs"},
		{"rust", "a b.rs", "main.rs"},
		{"rust", "-x.rs", "main.rs"},
		{"rust", "my-sol.rs", "main.rs"},
		{"rust", "1abc.rs", "main.rs"},
		{"go", "sol_test.go", "main.go"},
		{"go", "x_js.go", "main.go"},
		{"go", "_sol.go", "main.go"},
		{"go", ".x.go", "main.go"},
		{"go", "sol-1.go", "main.go"},
		{"go", "Aufgabe (1).go", "main.go"},
		{"go", "plan9.go", "plan9.go"},
		{"cpp", "my_sol.cpp", "my_sol.cpp"},
		{"cpp", "it's.cc", "main.cc"},
		{"cpp", "a$(id).cpp", "main.cpp"},
		{"cpp", "sol.txt", "main.cpp"},
		{"cpp", "src/é.cpp", "src/main.cpp"},
		{"java", "Sorter.java", "Sorter.java"},
		{"java", "package-info.java", "Main.java"},
		{"java", "Main (1).java", "Main.java"},
		{"typescript", "x.d.ts", "main.ts"},
		{"typescript", "@x.ts", "main.ts"},
		{"pascal", "System.pas", "main.pas"},
		{"pascal", "1.pas", "main.pas"},
	} {
		j := jobOf(t, pl, api.Run{Language: tt.language, Source: api.Bytes("x"), SourceName: tt.given})
		if j.Compile.Source != tt.want || len(j.Compile.Files) != 1 || j.Compile.Files[0].Name != tt.want {
			t.Errorf("%s %s: compiled as %s; want %s", tt.language, tt.given, j.Compile.Source, tt.want)
		}
		if len(j.Run.Files) > 0 {
			t.Errorf("%s %s: the run has the source: %+v", tt.language, tt.given, j.Run.Files)
		}

		said := j.Compile.Reported(api.Bytes("/box/" + tt.want + ":3:1: error in " + tt.want + " (not x" + tt.want + ")\n"))
		if want := "/box/" + tt.given + ":3:1: error in " + tt.given + " (not x" + tt.want + ")\n"; string(said) != want {
			t.Errorf("%s %s: reported %q; want %q", tt.language, tt.given, said, want)
		}

		s, err := pl.Session(t.Context(), api.SessionRequest{Language: tt.language}, api.Caller{})
		if err != nil {
			t.Fatal(err)
		}

		run, compile, err := pl.Exec(s, api.Exec{Source: api.Bytes("x"), SourceName: tt.given})
		if err != nil || compile.Source != tt.want || compile.SourceName != tt.given || !slices.Equal(run.Argv, j.Run.Argv) {
			t.Errorf("an exec of %s %s: %+v, %v, %v; want it compiled as %s", tt.language, tt.given, compile, run, err, tt.want)
		}
	}

	// Another file has the place, or the language has no compiler.
	j := jobOf(t, pl, api.Run{Language: "c", Source: api.Bytes("x"), SourceName: "a b.c", Files: []api.File{{Name: "main.c"}}})
	if j.Compile.Source != "a b.c" {
		t.Errorf("next to main.c: compiled as %s", j.Compile.Source)
	}
	if j := jobOf(t, pl, api.Run{Language: "python", Source: api.Bytes("x"), SourceName: "a b.py"}); j.Run.Source != "a b.py" {
		t.Errorf("a source that is not compiled is %s", j.Run.Source)
	}
}
