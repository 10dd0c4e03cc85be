package plan

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// everyField is a manifest that sets every field of those that decide about a run. Its source is compiled; parsed is
// the same for a source that is not.
const everyField = `name: every
aliases: [all]
version: "1"
image: every
image_from: example.org/every:1
extensions: [every]
source_file: main.every
needs: [/usr/lib/every]
compile: [cc, "-m{memory_mib}", "-h{heap_mib}", "-s{stack_kib}", "{flags}", "{source}", "{stem}", "{sources}", "{link_flags}"]
compile_env: {COMPILES: "1"}
compile_limits: {memory: 300M, stack: 16M, wall: 7s, cpu: 6s}
compile_tier: managed
artifacts: [main]
flags: [-a, -b]
flag_patterns: ["-c[0-9]"]
default_flags: [-b]
reserved_stems: _
run: [./main, "-m{memory_mib}", "-h{heap_mib}", "-s{stack_kib}", "{run_flags}", "{source}", "{stem}"]
env: {RUNS: "{memory_hex}"}
interactive_env: {READ: "1"}
tier: strict
proc: full
limits: {memory: 200M, stack: 24M, wall: 9s, cpu: 8s, pids: 50, open_files: 70, output: 3M, scratch: 90M, inodes: 900}
time_factor: 2
memory_factor: 3
oom_exit_code: 3
oom_says: no memory
packages: {kind: python, image: every, install: [install, "{requirements}"], index: "https://example.org/simple"}
templates: [{kind: loader, trial: ready}]
`

var parsed = strings.NewReplacer(
	"name: every", "name: parsed", "aliases: [all]\n", "", "extensions: [every]\n", "",
	"compile_env: {COMPILES: \"1\"}\n", "", "compile_limits: {memory: 300M, stack: 16M, wall: 7s, cpu: 6s}\n", "",
	"compile_tier: managed\n", "", "artifacts: [main]\n", "", "flags: [-a, -b]\n", "", "flag_patterns: [\"-c[0-9]\"]\n", "",
	"default_flags: [-b]\nreserved_stems: _\n", "", "compile: [cc", "syntax: [parse", `"{flags}", `, "", `, "{sources}", "{link_flags}"`, "",
).Replace(everyField)

// allLanguages plans runs of every language: those of brig, every and parsed. Their images are stored by name alone.
func allLanguages(t *testing.T) *Planner {
	t.Helper()
	manifests := t.TempDir()
	for name, text := range map[string]string{"every.yaml": everyField, "parsed.yaml": parsed} {
		if err := os.WriteFile(filepath.Join(manifests, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	known, err := languages.Load(manifests, nil)
	if err != nil {
		t.Fatal(err)
	}

	store, hex := t.TempDir(), strings.Repeat("0a", 32)
	put := func(name string, content []byte) {
		path := filepath.Join(store, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	about, err := json.Marshal(map[string]any{"digest": "sha256:" + hex, "config": rootfs.Config{Env: []string{"IMAGE=1"}}})
	if err != nil {
		t.Fatal(err)
	}

	put("images/"+hex+"/image.json", about)
	for _, l := range known.All() {
		put("names/"+l.Image, []byte("sha256:"+hex+"\n"))
		for _, path := range l.Needs {
			if err := os.MkdirAll(filepath.Join(store, "images", hex, "root", path), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}

	return &Planner{Images: rootfs.OpenReadOnly(store), Languages: known, Memory: 64 * api.GiB, SessionLife: api.Duration(time.Hour)}
}

// A view is what a manifest decides about a stage.
type view struct {
	Argv, Env, Artifacts []string
	Source               string
	Limits               api.Limits
	OOMExitCode          int
	OOMMessage           string
	Tier                 string
	FullProc             bool
}

func viewOf(p *Run) *view {
	if p == nil {
		return nil
	}
	return &view{
		Argv: p.Argv, Env: p.Env, Artifacts: p.Artifacts, Source: p.Source, Limits: p.Limits,
		OOMExitCode: p.OOMExitCode, OOMMessage: p.OOMMessage, Tier: p.Cell.Policy.Name, FullProc: p.Cell.Key.FullProc,
	}
}

// asked are the limits of a request: none, or all.
type asked struct{ run, compile api.Limits }

// A use is a way to execute a program of a language. It returns the stage that executes it, and the one before; nil if
// programs of the language are not executed so.
type use struct {
	name     string
	defaults bool // without limits it is the same as a run, too
	plan     func(t *testing.T, pl *Planner, language string, l asked) (run, before *Run)
}

var uses = []use{
	{"a run", true, func(t *testing.T, pl *Planner, language string, l asked) (*Run, *Run) {
		r := api.Run{Language: language, Source: api.Bytes("x"), Argv: []string{"a"}, Limits: l.run, CompileLimits: l.compile}
		j := jobOf(t, pl, r)
		return j.Run, j.Compile
	}},
	{"a test", true, func(t *testing.T, pl *Planner, language string, l asked) (*Run, *Run) {
		test := api.Test{ID: "1", Args: []string{"a"}}
		r := api.Run{Language: language, Source: api.Bytes("x"), Tests: []api.Test{test}, Limits: l.run, CompileLimits: l.compile}
		return testOf(t, pl, r)
	}},
	{"a test with limits of its own", false, func(t *testing.T, pl *Planner, language string, l asked) (*Run, *Run) {
		test := api.Test{ID: "1", Args: []string{"a"}, Limits: l.run}
		r := api.Run{Language: language, Source: api.Bytes("x"), Tests: []api.Test{test}, Limits: api.Limits{Memory: 64 * api.MiB},
			CompileLimits: l.compile}
		return testOf(t, pl, r)
	}},
	{"a checker", false, func(t *testing.T, pl *Planner, language string, l asked) (*Run, *Run) {
		r := api.Run{Language: "bash", Source: api.Bytes("x"), Tests: []api.Test{{ID: "1"}}}
		r.Check = &api.Check{Protocol: api.ProtocolExit, Program: judging(language, l), Args: []string{"a"}}
		j := jobOf(t, pl, r)
		return j.Check(r.Tests[0], nil, nil, nil, nil), j.Checker.Compile
	}},
	{"an interactor", false, func(t *testing.T, pl *Planner, language string, l asked) (*Run, *Run) {
		r := api.Run{Language: "bash", Source: api.Bytes("x"), Tests: []api.Test{{ID: "1"}}}
		r.Interactor = &api.Interactor{Protocol: api.ProtocolTestlib, Program: judging(language, l)}
		j := jobOf(t, pl, r)
		run := j.Interactor.Run
		run.Argv = append(run.Argv, "a")
		return run, j.Interactor.Compile
	}},
	{"a called function", true, func(t *testing.T, pl *Planner, language string, l asked) (*Run, *Run) {
		if language != api.LanguageOfCalls {
			return nil, nil
		}
		test := api.Test{ID: "1", Asserts: api.Bytes("assert True")}
		r := api.Run{Language: language, Source: api.Bytes("x"), Tests: []api.Test{test}, Limits: l.run}
		run, before := testOf(t, pl, r)
		run.Argv = append(run.Argv, "a")
		return run, before
	}},
	{"an exec", true, func(t *testing.T, pl *Planner, language string, l asked) (*Run, *Run) {
		outer, inner := l.run, l.run
		for _, row := range api.LimitTable() {
			switch row.Scope {
			case api.OfExec:
				reflect.ValueOf(row.Field(&outer)).Elem().SetZero()
			case api.OfSession:
				reflect.ValueOf(row.Field(&inner)).Elem().SetZero()
			}
		}

		s, err := pl.Session(t.Context(), api.SessionRequest{Language: language, Limits: outer}, api.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		run, compile, err := pl.Exec(s, api.Exec{Source: api.Bytes("x"), Argv: []string{"a"}, Limits: inner})
		if err != nil {
			t.Fatal(err)
		}
		return run, compile
	}},
}

func jobOf(t *testing.T, pl *Planner, r api.Run) *Job {
	t.Helper()
	j, err := pl.Job(t.Context(), r, api.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func testOf(t *testing.T, pl *Planner, r api.Run) (*Run, *Run) {
	t.Helper()
	j := jobOf(t, pl, r)
	run, err := pl.Test(j, r.Tests[0])
	if err != nil {
		t.Fatal(err)
	}
	return run, j.Compile
}

func judging(language string, l asked) api.Program {
	return api.Program{Language: language, Source: api.Bytes("x"), Limits: l.run, CompileLimits: l.compile}
}

// Whatever executes a program of a language, the manifest says the same about it. A session's exec once had no stack
// in its command, no stack limit and no text by which a full heap is known; a test had the sizes of its job in its
// command; and a checker had other limits.
func TestAllUsesOfALanguageAreAlike(t *testing.T) {
	pl := allLanguages(t)
	for _, l := range pl.Languages.All() {
		t.Run(l.Name, func(t *testing.T) {
			run, compile := uses[0].plan(t, pl, l.Name, asked{})
			complete := asked{run: run.Limits}
			complete.run.Memory, complete.run.Stack = 320*api.MiB, 12*api.MiB
			complete.run.AddressSpace, complete.run.Data, complete.run.FileSize = 8*api.GiB, 7*api.GiB, 5*api.MiB
			if compile != nil {
				complete.compile = compile.Limits
				complete.compile.Memory = 400 * api.MiB
				complete.compile.AddressSpace, complete.compile.Data, complete.compile.FileSize = 9*api.GiB, 8*api.GiB, 6*api.MiB
			}

			for _, limits := range []asked{{}, complete} {
				run, compile := uses[0].plan(t, pl, l.Name, limits)
				for _, u := range uses[1:] {
					isDefault := limits.run == api.Limits{}
					if isDefault && !u.defaults {
						continue
					}
					if !isDefault && u.name == "an exec" {
						_, compile = uses[0].plan(t, pl, l.Name, asked{}) // an exec cannot ask for limits of its compiler
					}

					asRun, asCompile := u.plan(t, pl, l.Name, limits)
					if asRun == nil {
						continue // not for this language
					}

					wantView(t, u.name, viewOf(asRun), viewOf(run))
					if len(l.Compile) > 0 {
						wantView(t, "the compiler of "+u.name, viewOf(asCompile), viewOf(compile))
					}
				}
			}
		})
	}
}

func wantView(t *testing.T, what string, got, want *view) {
	t.Helper()
	if got == nil || want == nil {
		t.Errorf("%s: %+v; want %+v", what, got, want)
		return
	}
	is, wanted := reflect.ValueOf(*got), reflect.ValueOf(*want)
	for i := range is.NumField() {
		if a, b := is.Field(i).Interface(), wanted.Field(i).Interface(); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s: %s %v; want %v", what, is.Type().Field(i).Name, a, b)
		}
	}
}

// What each field says of the stages of a run: the test names all of them, so that a new field is not forgotten.
func TestEveryFieldOfAManifest(t *testing.T) {
	pl := allLanguages(t)
	compiled, compile := uses[0].plan(t, pl, "every", asked{})
	parsedRun, syntax := uses[1].plan(t, pl, "parsed", asked{})
	if compile == nil || syntax == nil {
		t.Fatal("there is no stage before the run")
	}

	limits := api.Limits{
		Memory: 200 * api.MiB, Stack: 24 * api.MiB, Wall: api.Duration(9e9), CPU: api.Duration(8e9), Pids: 50, OpenFiles: 70,
		Output: 3 * api.MiB, Scratch: 90 * api.MiB, Inodes: 900,
	}.Over(api.Defaults())
	compileLimits := api.Limits{Memory: 300 * api.MiB, Stack: 16 * api.MiB, Wall: api.Duration(7e9),
		CPU: api.Duration(6e9)}.Over(languages.CompileDefaults())
	env := func(name, value string) []string {
		return Environment(map[string]string{name: value, "IMAGE": "1"}, nil)
	}

	wantView(t, "the run of a compiled program", viewOf(compiled), &view{
		Argv: []string{"./main", "-m200", "-h176", "-s21504", "main.every", "main", "a"}, Env: env("RUNS", "c800000"), Source: "main.every",
		Limits: limits, OOMExitCode: 3, OOMMessage: "no memory", Tier: "strict", FullProc: true,
	})
	wantView(t, "the run of a parsed program", viewOf(parsedRun), viewOf(compiled))
	wantView(t, "the compiler", viewOf(compile), &view{
		Argv: []string{"cc", "-m300", "-h276", "-s14336", "-b", "main.every", "main", "main.every"},
		Env:  env("COMPILES", "1"), Source: "main.every",
		Artifacts: []string{"main"}, Limits: compileLimits, Tier: "managed", FullProc: true,
	})

	wantView(t, "the parser", viewOf(syntax), &view{
		Argv: []string{"parse", "-m200", "-h176", "-s21504", "main.every", "main"}, Env: env("RUNS", "c800000"), Source: "main.every",
		Limits: limits, Tier: "strict", FullProc: true,
	})

	read, err := pl.Job(t.Context(), api.Run{Language: "every", Source: api.Bytes("x"), Interactive: true}, api.Caller{})
	if err != nil || !slices.Contains(read.Run.Env, "READ=1") || slices.Contains(compiled.Env, "READ=1") {
		t.Errorf("the variables of a run whose output a person reads: %+v, %v", read, err)
	}

	known := map[string]string{ // how the fields that decide nothing of a stage are tested
		"Name": "", "Aliases": "", "Version": "", "Image": "", "ImageFrom": "", "Extensions": "", "SourceFile": "", "Needs": "",
		"RefusedFlags": "TestRefusedFlagsSayWhy", "ReservedStems": "TestNamesThatCompilersGet",
		"TimeFactor": "reported", "MemoryFactor": "reported", "Packages": "TestPackagesAreFoundByTheEnvironment",
		"Templates": "TestTemplateTakes and e2e", "CompileTemplate": "TestCompileTemplateRules and e2e",
	}

	l, err := pl.Languages.ByName("every")
	if err != nil {
		t.Fatal(err)
	}

	fields := reflect.ValueOf(l)
	for i := range fields.NumField() {
		field := fields.Type().Field(i)
		if _, plain := known[field.Name]; field.IsExported() && !plain && fields.Field(i).IsZero() && field.Name != "Syntax" {
			t.Errorf("no field %s in the manifest of this test: set it, and say above what it does in every stage", field.Name)
		}
	}
}

// A checker's own defaults hold where its language has none.
func TestDefaultsOfACheckerFollowItsLanguage(t *testing.T) {
	pl := allLanguages(t)
	for language, want := range map[string]struct{ run, compile api.Limits }{
		"every": {api.Limits{CPU: api.Duration(8e9), Wall: api.Duration(9e9), Memory: 200 * api.MiB, Output: 3 * api.MiB, Stack: 24 * api.MiB},
			api.Limits{CPU: api.Duration(6e9), Wall: api.Duration(7e9)}},
		"cpp": {api.Limits{CPU: judgeCPU, Wall: api.BusyWall(judgeCPU), Memory: judgeMemory, Output: judgeOutput,
			Stack: judgeMemory}, api.Limits{CPU: judgeCompileCPU, Wall: api.BusyWall(judgeCompileCPU)}},
	} {
		run, compile := uses[3].plan(t, pl, language, asked{})
		if got := want.run.Over(run.Limits); got != run.Limits {
			t.Errorf("%s: %+v; want %+v", language, run.Limits, got)
		}
		if got := want.compile.Over(compile.Limits); got != compile.Limits {
			t.Errorf("the compiler of %s: %+v; want %+v", language, compile.Limits, got)
		}
	}
}

// Free flags have their places in the commands of a run and of its compiler, whose artifacts are then not kept, and the
// run does not begin from a template.
func TestFreeFlags(t *testing.T) {
	pl := allLanguages(t)
	pl.TemplateDrivers = TemplateDrivers(map[string][]byte{"loader": nil})
	plan := func(free api.FreeFlags) *Job {
		return jobOf(t, pl, api.Run{Language: "every", Source: api.Bytes("x"), Argv: []string{"a"}, Mode: api.Strict, FreeFlags: free})
	}

	plain := plan(api.FreeFlags{})
	if plain.Compile.Uncached || plain.Run.Template == nil {
		t.Errorf("without free flags: uncached %v, cold %q", plain.Compile.Uncached, plain.Run.Cold)
	}

	j := plan(api.FreeFlags{Compile: []string{"-x", "{source}"}, Link: []string{"-lm"}, Run: []string{"-u"}})
	compile, run := strings.Join(j.Compile.Argv, " "), strings.Join(j.Run.Argv, " ")
	if want := "cc -m300 -h276 -s14336 -b -x {source} main.every main main.every -lm"; compile != want || !j.Compile.Uncached {
		t.Errorf("the compiler is %q, uncached %v; want %q", compile, j.Compile.Uncached, want)
	}
	if want := "./main -m200 -h176 -s21504 -u main.every main a"; run != want || j.Run.Template != nil || j.Run.Cold == "" {
		t.Errorf("the program is %q, cold %q; want %q", run, j.Run.Cold, want)
	}
	if key := ArtifactKey(j.Compile); key == ArtifactKey(plain.Compile) {
		t.Error("the artifacts have the key of those without the flags")
	}

	one := plan(api.FreeFlags{Run: []string{"-u"}})
	if one.Compile.Uncached {
		t.Error("flags of the interpreter change nothing of the compiler")
	}
	_, err := pl.Job(t.Context(), api.Run{Language: "parsed", Source: api.Bytes("x"), FreeFlags: api.FreeFlags{Link: []string{"-lm"}}},
		api.Caller{})
	if !api.HasCode(err, api.CodeBadRequest) {
		t.Errorf("flags for a compiler that there is not: %v", err)
	}
}

// One pipe for both outputs is that of the program and of what comes before it, and artifacts are kept with the report
// of their compiler: with one output or with two.
func TestMergedStderr(t *testing.T) {
	pl := allLanguages(t)
	plan := func(language string, merge bool) *Job {
		return jobOf(t, pl, api.Run{Language: language, Source: api.Bytes("x"), MergeStderr: merge, Tests: []api.Test{{ID: "1"}}})
	}

	for _, language := range []string{"every", "parsed"} {
		for _, merge := range []bool{false, true} {
			j := plan(language, merge)
			test, err := pl.Test(j, j.Request.Tests[0])
			if err != nil || test.MergeStderr != merge || j.Run.MergeStderr != merge || j.Compile.MergeStderr != merge {
				t.Errorf("%s, merged %v: the test %v, the run %v, before it %v: %v", language, merge, test.MergeStderr, j.Run.MergeStderr,
					j.Compile.MergeStderr, err)
			}
		}
		if ArtifactKey(plan(language, true).Compile) == ArtifactKey(plan(language, false).Compile) {
			t.Errorf("%s: one key for both reports", language)
		}
	}

	s, err := pl.Session(t.Context(), api.SessionRequest{Language: "every"}, api.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	run, compile, err := pl.Exec(s, api.Exec{Source: api.Bytes("x"), MergeStderr: true})
	if err != nil || !run.MergeStderr || !compile.MergeStderr {
		t.Errorf("an exec: %v, its compiler: %v: %v", run.MergeStderr, compile.MergeStderr, err)
	}
}
