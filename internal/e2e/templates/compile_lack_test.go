package templates

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A compiler that lacks stack says so in the words of its manifest, and one that lacks memory is ended; its stage is
// executed again with the other start. The result is the same if the template was ready before, and if it was not.
func TestCompilersThatLackStackOrMemory(t *testing.T) {
	parens := strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000)
	lines := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line, i, i)
		}
		return b.String()
	}

	for _, tt := range []struct {
		name, language, change, source string
		says                           string // what the compiler says; empty: the kernel ended it at the memory limit
	}{
		{"stack", "java", "", "public class Main { int x = " + parens + "; }\n", "java.lang.StackOverflowError"},
		{"memory", "java", "compile_limits: {memory: 112M}\n",
			"public class Main {\n" + lines(150_000, "static int f%d(int x) { return x * %d + x; }\n") + "}\n", ""},
		{"stack", "typescript", "", "const x = " + parens + ";\n", "RangeError: Maximum call stack size exceeded"},
		{"memory", "typescript", "compile_limits: {memory: 192M}\n",
			lines(100_000, "export function f%d(x: number): number { return x * %d + x; }\n"), ""},
	} {
		if !harness.Chosen(tt.language, false) {
			continue
		}
		t.Run(tt.language+"/"+tt.name, func(t *testing.T) {
			b := startLacking(t, tt.language, tt.change)
			r := compiled(t, tt.language, tt.source)
			asked := func(cold bool) api.Result {
				r.Files = slices.Clone(r.Files)
				r.Files[0].Content = []byte(harness.Uncached(t, ""))
				r.NoTemplate = cold
				return b.MustRun(t, r)
			}

			before := asked(false)
			awaitCompiler(t, b.Agent, tt.language)
			after, cold := asked(false), asked(true)
			for _, of := range []struct {
				when string
				res  api.Result
			}{{"before the template was ready", before}, {"from the template", after}, {"with the ordinary start", cold}} {
				harness.WantVerdict(t, of.res, api.CompileError)
				said := string(of.res.Stdout) + string(of.res.Stderr)
				if tt.says != "" && !strings.Contains(said, tt.says) || tt.says == "" && of.res.ExitCode != -1 {
					t.Errorf("%s: exit code %d, the compiler says %.2000q, want %q", of.when, of.res.ExitCode, said, tt.says)
				}
				if of.res.ExitCode != cold.ExitCode || wasWarm(of.res) {
					t.Errorf("%s: exit code %d, from a template: %v; want that of the ordinary start, %d", of.when, of.res.ExitCode,
						wasWarm(of.res), cold.ExitCode)
				}
			}
			if want := "lacked stack or heap from its template"; !strings.Contains(after.Host.Cold, want) {
				t.Errorf("from the template, host.cold is %q, want %q in it", after.Host.Cold, want)
			}
		})
	}
}

// startLacking starts an agent that has such a language with limits of its own. Its compiler has no template yet.
func startLacking(t *testing.T, language, limits string) harness.Bench {
	t.Helper()
	dir := harness.PublicDir(t, "brig-languages-")
	b := harness.Bench{Slots: make(chan struct{}, 2)}
	for _, l := range harness.BuiltinLanguages(t) {
		if l.Name != language {
			continue
		}
		text := fmt.Sprintf(artifactSums, l.Name, strings.Join(l.Artifacts, " ")) + limits
		if err := os.WriteFile(filepath.Join(dir, l.Name+"-sums.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		b.Agent = harness.StartAgent(t, "--compile-templates", "--slots", "2", "--languages", dir,
			"--max-cpu", harness.Slowly(60).String(), "--max-wall", harness.Slowly(240).String(), "--template-life", "1h")
		harness.Images.Load(t, b.Agent, l.Image)
	}
	return b
}
