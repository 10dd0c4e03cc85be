//go:build tiers

package languages

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// tellingCases are the language cases that use many calls, those that use most first.
var tellingCases = []string{"files", "records", "processes", "signals", "machine", "timers", "events", "locks", "library", "child",
	"thread", "several", "exception", "add", "hello"}

// witnesses returns those of a tier: the programs of its languages, and their compilers. The tier
// strict is the default of no language: it has the programs that are one process.
func witnesses(t *testing.T, a *harness.Agent, tier string) []witness {
	t.Helper()
	var list []witness
	some := askedLanguages()
	if tier == "network" && (len(some) == 0 || slices.Contains(some, "c")) {
		list = append(list, socketsWitness(t, a))
	}

	for _, l := range harness.BuiltinLanguages(t) {
		strict := tier == "strict" && slices.Contains(strictLanguages, l.Name)
		compiles := len(l.Compile) > 0 && l.CompileTier == tier
		if l.Tier != tier && !strict && !compiles || len(some) > 0 && !slices.Contains(some, l.Name) {
			continue
		}

		harness.Images.Load(t, a, l.Image)

		for _, c := range languageCases {
			run, ok := languageRun(t, l, c.name)
			if !ok || !slices.Contains(tellingCases, c.name) || strict && !c.singleProcess {
				continue
			}
			if c.change != nil {
				c.change(&run)
			}
			if l.Tier == tier || strict {
				list = append(list, witness{l.Name + " " + c.name, run, func(t testing.TB, res api.Result) { c.check(t, l, res) }, 4})
				if l.Name == "c" {
					list = append(list, muslWitnesses(t, l, c, run)...)
				}
			}
			if compiles && (c.name == "library" || c.name == "several") {
				list = append(list, compilerWitness(t, l, c.name, run))
			}
		}
	}

	slices.SortStableFunc(list, func(x, y witness) int { return caseRank(x.name) - caseRank(y.name) })
	return list
}

// askedLanguages are those of $BRIG_TIERS_LANGUAGES, for when not all images should be built;
// empty: all.
func askedLanguages() []string { return strings.Fields(os.Getenv("BRIG_TIERS_LANGUAGES")) }

func caseRank(name string) int { return slices.Index(tellingCases, strings.Fields(name)[1]) }

// socketsWitness is a C program with a server and clients on the run's own loopback.
func socketsWitness(t *testing.T, a *harness.Agent) witness {
	t.Helper()
	source, err := os.ReadFile("../../../testdata/network/sockets.c")
	if err != nil {
		t.Fatal(err)
	}

	for _, l := range harness.BuiltinLanguages(t) {
		if l.Name == "c" {
			harness.Images.Load(t, a, l.Image)
		}
	}

	run := api.Run{Language: "c", Source: source, Network: api.NetworkLoopback, Collect: api.Collect{None: true}}
	run.CompileLimits = api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(60)}
	return witness{"c sockets", run, func(t testing.TB, res api.Result) {
		harness.WantVerdict(t, res, api.OK)
		if string(res.Stdout) != "answered\n" {
			t.Errorf("stdout is %q", res.Stdout)
		}
	}, 4}
}

// muslWitnesses are a C program built again with the C library of Alpine, Zig and Rust's musl
// targets: it makes other calls than glibc for the same functions.
func muslWitnesses(t *testing.T, l languages.Manifest, c languageCase, run api.Run) []witness {
	t.Helper()
	if c.name == "library" || c.name == "several" || len(run.Files) > 0 { // its time zones and tmpfile are specific to glibc
		return nil
	}

	dir := t.TempDir()
	source, bin := filepath.Join(dir, "main.c"), filepath.Join(dir, "main")
	if err := os.WriteFile(source, run.Source, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(testenv.NeedTool(t, "musl-gcc", "musl-tools"), "-static", "-O1", "-w", "-pthread", "-o", bin,
		source).CombinedOutput(); err != nil {
		t.Fatalf("musl-gcc %s: %v\n%s", c.name, err, out)
	}

	content, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}

	r := harness.Program(api.File{Name: "main", Content: content, Executable: true})
	r.Stdin, r.Collect = run.Stdin, run.Collect
	return []witness{{"c " + c.name + " (musl)", r, func(t testing.TB, res api.Result) { c.check(t, l, res) }, 4}}
}

// compilerWitness is the compiler of a language, compiling a program.
func compilerWitness(t *testing.T, l languages.Manifest, name string, run api.Run) witness {
	t.Helper()
	files := append([]api.File{{Name: l.SourceFile, Content: run.Source}}, run.Files...)
	r := api.Run{Image: l.Image, Files: files, Env: l.CompileEnv, Collect: api.Collect{None: true}}
	r.Limits = l.CompileLimits.Over(languages.CompileDefaults())
	flags, err := l.ChooseFlags(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Argv = languages.Placeholders{Source: l.SourceFile, Sources: l.Sources(files, l.SourceFile), Flags: flags,
		Memory: r.Limits.Memory}.Expand(l.Compile, nil)
	return witness{l.Name + " " + name + " (its compiler)", r, func(t testing.TB, res api.Result) { harness.WantVerdict(t, res, api.OK) }, 30}
}
