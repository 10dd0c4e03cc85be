package languages

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// personNames are names under which people hand in sources: those of browsers that save a copy, of tools, of other
// languages, and with the characters into which compilers and interpreters read something. Each is the name of a right
// program, without its extension.
var personNames = map[string][]string{
	"bash":    {"-x", "-c", "a b"},
	"cpp":     {"-x", "@x", "Aufgabe (1)", "a$(id)", "a.b", "it's", "my sol", "é"},
	"csharp":  {"*", "-x", "@x", "a,b", "a;b", "my sol", "é"},
	"fsharp":  {"-x", "@x", "1", "my sol", "é"},
	"fortran": {"-x", "1", "@x", "Aufgabe (1)", "a.b", "my sol", "é"},
	"go": {"-x", ".x", "Aufgabe (1)", "_sol", "a,b", "a@b", "it's", "my sol", "plan9", "sol-1", "sol_arm64", "sol_linux", "sol_test",
		"sol_windows", "x_js", "é"},
	"haskell":    {"-x", "1", "Main (2)", "lower", "my sol", "é"},
	"java":       {"-x", "1", "@x", "Main (1)", "Main", "module-info", "my sol", "package-info", "é"},
	"javascript": {"-x", "a%20b", "a?b#c", "fs", "my sol", "package", "é"},
	"lua":        {"-e", "-i", "a b"},
	"pascal":     {"-x", "1", "@x", "Aufgabe (1)", "my sol", "system", "é"},
	"perl":       {"-e", "-x", "a b", "strict"},
	"php":        {"-r", "-x", "a b"},
	"python":     {"-x", "__main__", "a.b", "codecs", "encodings", "json", "my sol", "random", "site", "sitecustomize", "test", "é"},
	"ruby":       {"-e", "-x", "my sol"},
	"rust":       {"-x", "1abc", "Aufgabe (1)", "a.b", "core", "fn", "my sol", "my-sol", "proc_macro", "std", "test", "é"},
	"typescript": {"-x", "@x", "index", "my sol", "x.d", "x.test", "é"},
}

// The name of a file is a name, and nothing else, to every compiler and interpreter: a right program is right under
// every name, and a compiler's message has the name that its author knows.
func TestSourcesOfEveryName(t *testing.T) {
	b := harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m"), Slots: make(chan struct{}, 2)}
	some := harness.NewShare(9)
	for _, l := range harness.BuiltinLanguages(t) {
		names := personNames[l.Name]
		if names == nil || !harness.Chosen(l.Name, harness.LanguageTests[l.Name].OnlyAll) {
			continue
		}

		harness.Images.Load(t, b.Agent, l.Image)
		hello, ok := languageRun(t, l, "hello")
		if !ok {
			t.Fatalf("%s has no hello", l.Name)
		}

		broken, _ := languageRun(t, l, "broken")

		for i, name := range names {
			if some.LeavesOut(l.Name) {
				continue
			}
			b.Test(t, l.Name+"/"+name, func(t *testing.T) {
				run := hello
				run.SourceName = name + filepath.Ext(l.SourceFile)
				res := b.MustRun(t, run)
				prints("hello, world\n")(t, l, res)

				if len(l.Compile) == 0 || broken.Source == nil || i > 1 { // a failure is not cached: two of them
					return
				}

				run.Source = broken.Source
				res = b.MustRun(t, run)
				harness.WantVerdict(t, res, api.CompileError)
				if said := append(res.Stdout, res.Stderr...); !bytes.Contains(said, []byte(name)) && !strings.ContainsAny(name, "é") {
					t.Errorf("the compiler does not say %q: %.500q", name, said)
				}
			})
		}
	}
}
