package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

const languagePrograms = "testdata/languages"

// A languageCase is something programs of every language do, and what must come
// of it. Its program is testdata/languages/LANGUAGE/NAME.EXT, or a directory NAME
// where it has several files.
type languageCase struct {
	name   string
	change func(*api.Run) // nil: the run is the program alone
	check  func(testing.TB, rootfs.Language, api.Result)

	// some: programs of some languages do it; of the others no reason is wanted.
	some bool

	// alone: it needs one process and reads files by name, so it works under the
	// tier strict, too, in the languages that fit one process.
	alone bool
}

var languageCases = []languageCase{
	{name: "hello", check: hello, alone: true},
	{name: "add", change: func(r *api.Run) { r.Stdin = api.Bytes("3 4\n") }, check: prints("7\n"), alone: true},
	{name: "utf8", change: func(r *api.Run) { r.Stdin = api.Bytes("žluťoučký kůň\n") }, check: prints("grün 日本 😀\nžluťoučký kůň\n"), alone: true},
	{name: "several", check: prints("7 from another file\n"), alone: true},
	{name: "broken", check: func(t testing.TB, l rootfs.Language, res api.Result) {
		want := api.Nonzero
		if len(l.Compile) > 0 {
			want = api.CompileError
		}
		failsOnLine3(t, l, res, want)
	}},
	{name: "exception", alone: true, check: func(t testing.TB, _ rootfs.Language, res api.Result) {
		if res.Verdict != api.Nonzero && res.Verdict != api.Signaled {
			t.Errorf("verdict %s; want nonzero or signaled", res.Verdict)
		}
		if !bytes.Contains(res.Stderr, []byte("boom")) {
			t.Errorf("stderr %.300q does not say boom", res.Stderr)
		}
	}},
	{name: "loop", change: func(r *api.Run) { r.Limits = api.Limits{CPU: slowly(1), Wall: slowly(20)} }, check: ends(api.CPULimit)},
	{name: "sleep", change: func(r *api.Run) { r.Limits = api.Limits{CPU: slowly(20), Wall: slowly(1.5)} }, check: ends(api.WallLimit)},
	{name: "memory", change: func(r *api.Run) { r.Limits = api.Limits{CPU: slowly(40), Wall: slowly(60), Memory: 256 * api.MiB} }, check: ends(api.MemoryLimit)},
	{name: "thread", check: prints("from a thread\n"), alone: true},
	{name: "child", check: prints("from a child\n")},
	{name: "library", check: library, alone: true},
	{name: "files", check: prints("files ok\n")},         // write, rename, list, link, remove
	{name: "processes", check: prints("processes ok\n")}, // commands, pipes, signals
	{name: "timers", check: prints("timers ok\n"), some: true},
	{name: "locks", check: prints("locks ok\n"), some: true},
	{name: "events", check: prints("events ok\n"), some: true},
	{name: "machine", check: prints("machine ok\n"), some: true, alone: true},
	{name: "records", check: prints("records ok\n"), some: true, alone: true},
	{name: "signals", check: prints("signals ok\n"), some: true, alone: true},
	{name: "deep", check: prints("100000\n")},
}

// heldArtifact is the size up to which two compiled programs, one for each slot of a small
// host, stay in the agent's memory (cache.recentBytes): a larger one is read and hashed again
// for every run, 13 ms for the 10 MB that a Haskell hello had with its symbols.
const heldArtifact = 8 << 20 // bytes

func hello(t testing.TB, l rootfs.Language, res api.Result) {
	t.Helper()
	prints("hello, world\n")(t, l, res)
	if c := res.Compile; c != nil && c.Size > heldArtifact {
		t.Errorf("the compiled hello has %d bytes; want at most %d: link it without symbols", c.Size, heldArtifact)
	}
}

// strictLanguages are those whose programs fit one process: a judge may choose the
// tier strict for them.
var strictLanguages = []string{"c", "cpp", "rust", "haskell", "pascal", "lua"}

// libraryLines are what a language's own library is good for, in the order of the
// program's output.
var libraryLines = []string{"json 3", "regex 2026", "big 1267650600228229401496703205376", "zone 21:00", "random ok", "temp ok"}

func library(t testing.TB, l rootfs.Language, res api.Result) {
	var want string
	for _, line := range libraryLines {
		word, _, _ := strings.Cut(line, " ")
		if tongues[l.Name].without[word] == "" {
			want += line + "\n"
		}
	}
	prints(want)(t, l, res)
}

func prints(want string) func(testing.TB, rootfs.Language, api.Result) {
	return func(t testing.TB, _ rootfs.Language, res api.Result) {
		t.Helper()
		wantVerdict(t, res, api.OK)
		if string(res.Stdout) != want {
			t.Errorf("stdout %.300q; want %q", res.Stdout, want)
		}
	}
}

func ends(verdict api.Verdict) func(testing.TB, rootfs.Language, api.Result) {
	return func(t testing.TB, _ rootfs.Language, res api.Result) {
		t.Helper()
		wantVerdict(t, res, verdict)
	}
}

// failsOnLine3: the program has a mistake on line 3, and whoever reads the program first says so.
func failsOnLine3(t testing.TB, l rootfs.Language, res api.Result, want api.Verdict) {
	t.Helper()
	wantVerdict(t, res, want)
	if (want == api.CompileError) != (res.Stage == api.StageCompile) {
		t.Errorf("stage %s of %s", res.Stage, want)
	}
	said := slices.Concat(res.Stdout, res.Stderr) // some compilers write their errors to stdout
	if !regexp.MustCompile(regexp.QuoteMeta(l.SourceFile) + `[^0-9A-Za-z]*(on )?(line )?3\b`).Match(said) {
		t.Errorf("nobody names %s and line 3:\n%s", l.SourceFile, said)
	}
}

// TestLanguages runs every program of every language of the first line;
// BRIG_TEST_LANGUAGES=all has the others too, and one of python,c just those.
func TestLanguages(t *testing.T) {
	b := bench{startAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m"), make(chan struct{}, 2)}
	for _, l := range builtinLanguages(t) {
		known, ok := tongues[l.Name]
		if !ok {
			t.Errorf("language %s has no entry in tongues: how it is tested", l.Name)
		}
		if ok && chosen(l.Name, known.later) {
			t.Run(l.Name, func(t *testing.T) { b.language(t, l, known) })
		}
	}
}

func chosen(language string, later bool) bool {
	switch asked := os.Getenv("BRIG_TEST_LANGUAGES"); asked {
	case "":
		return !later
	case "all":
		return true
	default:
		return slices.Contains(strings.Split(asked, ","), language)
	}
}

// A bench is an agent with as many runs at a time as it has slots.
type bench struct {
	*agent
	slots chan struct{}
}

// test does one thing beside others.
func (b bench) test(t *testing.T, name string, do func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		b.slots <- struct{}{}
		defer func() { <-b.slots }()
		do(t)
	})
}

func (b bench) language(t *testing.T, l rootfs.Language, known tongue) {
	images.load(t, b.agent, l.Image)
	b.test(t, "image", func(t *testing.T) { cleanImage(t, b.agent, l.Image) })
	for _, c := range languageCases {
		run, ok := languageRun(t, l, c.name)
		switch why := known.without[c.name]; {
		case ok && why != "":
			t.Errorf("there is a program %s, though %s", c.name, why)
		case !ok && why == "" && !c.some:
			t.Errorf("there is no program %s, and no reason for that", c.name)
		case ok:
			if c.change != nil {
				c.change(&run)
			}
			b.test(t, c.name, func(t *testing.T) { c.check(t, l, b.run(t, run)) })
		}
		if ok && slices.Contains(strictLanguages, l.Name) && (c.alone || c.name == "child") {
			strict := run // the other is still to run
			strict.Profile = "strict"
			b.test(t, c.name+" under strict", func(t *testing.T) { underStrict(t, l, c, b.run(t, strict)) })
		}
	}
	b.tools(t, l, known)
	b.test(t, "version", func(t *testing.T) {
		res := b.run(t, versionRun(l))
		wantVerdict(t, res, api.OK)
		said := slices.Concat(res.Stdout, res.Stderr)
		number := l.Version[strings.LastIndexByte(l.Version, ' ')+1:] // of Mono 6.12
		if !regexp.MustCompile(`(^|[^0-9.])` + regexp.QuoteMeta(number) + `($|[^0-9])`).Match(said) {
			t.Errorf("%q says %.200q; the manifest says %s", known.version, said, l.Version)
		}
	})
	for _, ext := range l.Extensions {
		b.test(t, "brig run ."+ext, func(t *testing.T) {
			run, _ := languageRun(t, l, "hello")
			file := filepath.Join(t.TempDir(), strings.TrimSuffix(l.SourceFile, filepath.Ext(l.SourceFile))+"."+ext)
			if err := os.WriteFile(file, run.Source, 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(binary(t, "brig"), "run", "--socket", b.socket, file).CombinedOutput()
			if err != nil || string(out) != "hello, world\n" {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

// underStrict: a program that fits one process is as it is under its own tier, and
// one that wants a child has none.
func underStrict(t *testing.T, l rootfs.Language, c languageCase, res api.Result) {
	if c.alone {
		c.check(t, l, res)
	} else if res.Verdict == api.OK || bytes.Contains(res.Stdout, []byte("from a child")) {
		t.Errorf("verdict %s, stdout %q: it has a child under the tier strict", res.Verdict, res.Stdout)
	}
}

func builtinLanguages(t testing.TB) []rootfs.Language {
	t.Helper()
	all, err := rootfs.LoadLanguages("", nil)
	if err != nil {
		t.Fatal(err)
	}
	return all.All()
}

func versionRun(l rootfs.Language) api.Run {
	profile := l.Tier
	if len(l.Compile) > 0 {
		profile = l.CompileTier
	}
	return api.Run{Language: l.Name, Argv: tongues[l.Name].version, Profile: profile}
}

// languageRun makes the run of a case's program; false where there is none.
func languageRun(t testing.TB, l rootfs.Language, name string) (api.Run, bool) {
	t.Helper()
	dir := filepath.Join(languagePrograms, strings.TrimSuffix(l.Name, "-full"))
	several, err := filepath.Glob(filepath.Join(dir, name, "*"))
	if err != nil {
		t.Fatal(err)
	}
	run := api.Run{Language: l.Name, Collect: api.Collect{None: true}}
	if len(l.Compile) > 0 { // how long a compiler takes is not what is tested
		run.CompileLimits = api.Limits{Wall: slowly(60), CPU: slowly(60)}
	}
	for _, path := range several {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(path) == l.SourceFile {
			run.Source = text
		} else {
			run.Files = append(run.Files, api.File{Name: filepath.Base(path), Content: text})
		}
	}
	single, err := filepath.Glob(filepath.Join(dir, name+".*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range single {
		if run.Source, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return run, len(run.Source) > 0
}
