package languages

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// A languageCase is something that programs of every language do, and the expected outcome. Its
// program is testdata/languages/LANGUAGE/NAME.EXT, or a directory NAME if it has several files.
type languageCase struct {
	name   string
	change func(*api.Run) // nil: the run is the program alone
	check  func(testing.TB, languages.Manifest, api.Result)

	// optional: only programs of some languages do it; the others need no reason.
	optional bool

	// singleProcess: it needs one process and reads files by name, so it also works under the tier strict,
	// in the languages whose programs are one process.
	singleProcess bool
}

var languageCases = []languageCase{
	{name: "hello", check: hello, singleProcess: true},
	{name: "add", change: func(r *api.Run) { r.Stdin = api.Bytes("3 4\n") }, check: prints("7\n"), singleProcess: true},
	{name: "utf8", change: func(r *api.Run) { r.Stdin = api.Bytes("žluťoučký kůň\n") },
		check: prints("grün 日本 😀\nžluťoučký kůň\n"), singleProcess: true},
	{name: "several", check: prints("7 from another file\n"), singleProcess: true},
	{name: "broken", check: func(t testing.TB, l languages.Manifest, res api.Result) {
		want := api.Nonzero
		if len(l.Compile) > 0 {
			want = api.CompileError
		}
		failsOnLine3(t, l, res, want)
	}},
	{name: "exception", singleProcess: true, check: func(t testing.TB, _ languages.Manifest, res api.Result) {
		if res.Verdict != api.Nonzero && res.Verdict != api.Signaled {
			t.Errorf("verdict %s; want nonzero or signaled", res.Verdict)
		}
		if !bytes.Contains(res.Stderr, []byte("boom")) {
			t.Errorf("stderr %.300q does not say boom", res.Stderr)
		}
	}},
	{name: "abort", optional: true, check: func(t testing.TB, _ languages.Manifest, res api.Result) {
		if res.Verdict != api.Nonzero && res.Verdict != api.Signaled {
			t.Errorf("verdict %s; want nonzero or signaled", res.Verdict)
		}
	}},
	{name: "loop", change: func(r *api.Run) { r.Limits = api.Limits{CPU: harness.Slowly(1), Wall: harness.Slowly(120)} },
		check: endsWith(api.CPULimit)},
	{name: "sleep", change: func(r *api.Run) {
		r.Limits = api.Limits{CPU: harness.Slowly(20),
			Wall: harness.Slowly(1.5)}
	}, check: endsWith(api.WallLimit)},
	{name: "memory", change: func(r *api.Run) {
		r.Limits = api.Limits{CPU: harness.Slowly(40), Wall: harness.Slowly(240), Memory: 256 * api.MiB}
	},
		check: endsWith(api.MemoryLimit)},
	{name: "thread", check: prints("from a thread\n"), singleProcess: true},
	{name: "child", check: prints("from a child\n")},
	{name: "library", check: library, singleProcess: true},
	{name: "files", check: prints("files ok\n")},         // write, rename, list, link, remove
	{name: "processes", check: prints("processes ok\n")}, // commands, pipes, signals
	{name: "timers", check: prints("timers ok\n"), optional: true},
	{name: "locks", check: prints("locks ok\n"), optional: true},
	{name: "events", check: prints("events ok\n"), optional: true},
	{name: "machine", check: prints("machine ok\n"), optional: true, singleProcess: true},
	{name: "processors", change: func(r *api.Run) { r.Limits.Cpuset = firstProcessor() }, check: prints("processors 1\n"), optional: true},
	{name: "records", check: prints("records ok\n"), optional: true, singleProcess: true},
	{name: "signals", check: prints("signals ok\n"), optional: true, singleProcess: true},
	{name: "types", check: prints("types ok\n"), optional: true, singleProcess: true},
	{name: "lines", change: func(r *api.Run) {
		r.Stdin, r.Limits = numberedLines(0), api.Limits{CPU: harness.Slowly(20), Wall: harness.Slowly(120)}
	},
		check: func(t testing.TB, l languages.Manifest, res api.Result) {
			prints(string(numberedLines(1)))(t, l, res)
		}, optional: true},
	{name: "caches", check: prints("caches ok\n"), optional: true, singleProcess: true},
	{name: "deep", check: prints("100000\n")},
}

// firstProcessor is a cpuset of one processor that this process may use; empty: it may use no other one.
func firstProcessor() string {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		panic(err) // of this process it is always there
	}
	if set.Count() == 1 { // also user-mode Linux, which has no cpuset controller
		return ""
	}
	n := 0
	for !set.IsSet(n) {
		n++
	}
	return strconv.Itoa(n)
}

// numberedLines are a million lines, each with a number, the first of which is first.
func numberedLines(first int) api.Bytes {
	var text []byte
	for n := range 1_000_000 {
		text = append(strconv.AppendInt(text, int64(first+n), 10), '\n')
	}
	return text
}

// maxCachedArtifact is the size up to which two compiled programs, one for each slot of a small host,
// stay in the agent's memory (cache.recentBytes). A larger one is read and hashed again for every
// run: 13 ms for the 10 MB that a Haskell hello had with its symbols.
const maxCachedArtifact = 8 << 20 // bytes

func hello(t testing.TB, l languages.Manifest, res api.Result) {
	t.Helper()
	prints("hello, world\n")(t, l, res)
	if c := res.Compile; c != nil && c.Size > maxCachedArtifact {
		t.Errorf("the compiled hello has %d bytes; want at most %d: link it without symbols", c.Size, maxCachedArtifact)
	}
}

// strictLanguages are those whose programs are one process: a judge may choose the tier strict for
// them.
var strictLanguages = []string{"c", "cpp", "rust", "haskell", "pascal", "lua"}

// libraryLines are features of a language's own library, in the order of the program's output.
var libraryLines = []string{"json 3", "regex 2026", "big 1267650600228229401496703205376", "zone 21:00", "random ok", "temp ok"}

func library(t testing.TB, l languages.Manifest, res api.Result) {
	var want string
	for _, line := range libraryLines {
		word, _, _ := strings.Cut(line, " ")
		if harness.LanguageTests[l.Name].Without[word] == "" {
			want += line + "\n"
		}
	}
	prints(want)(t, l, res)
}

func prints(want string) func(testing.TB, languages.Manifest, api.Result) {
	return func(t testing.TB, _ languages.Manifest, res api.Result) {
		t.Helper()
		harness.WantVerdict(t, res, api.OK)
		if string(res.Stdout) != want {
			t.Errorf("stdout %.300q; want %q", res.Stdout, want)
		}
	}
}

func endsWith(verdict api.Verdict) func(testing.TB, languages.Manifest, api.Result) {
	return func(t testing.TB, _ languages.Manifest, res api.Result) {
		t.Helper()
		harness.WantVerdict(t, res, verdict)
	}
}

// failsOnLine3: the program has a mistake on line 3, and the first stage that reads the program
// reports it.
func failsOnLine3(t testing.TB, l languages.Manifest, res api.Result, want api.Verdict) {
	t.Helper()
	harness.WantVerdict(t, res, want)
	if (want == api.CompileError) != (res.Stage == api.StageCompile) {
		t.Errorf("stage %s of %s", res.Stage, want)
	}

	said := slices.Concat(res.Stdout, res.Stderr) // some compilers write their errors to stdout
	place := regexp.QuoteMeta(l.SourceFile) + `[^0-9A-Za-z]*(on )?(line )?3\b`
	if harness.LanguageTests[l.Name].LineOnly {
		place = `\bline 3\b`
	}
	if !regexp.MustCompile(place).Match(said) {
		t.Errorf("nobody names %s and line 3:\n%s", l.SourceFile, said)
	}
}

// TestLanguages runs the programs of every main language: the one that shows its start, the one with a mistake, and a fifth
// of the others, each program in one language at least. BRIG_TEST_LANGUAGES=all runs every program of every language,
// and a list such as python,c every program of just those.
func TestLanguages(t *testing.T) {
	b := harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m"), Slots: make(chan struct{}, 2)}
	if *harness.Update {
		newUsual.plain = harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m", "--template-memory", "none")
		defer func() { newUsual.write(t) }()
	}

	some := harness.NewShare(5)
	if os.Getenv("BRIG_TEST_LANGUAGES") != "" {
		some = harness.NewShare(1)
	}

	for _, l := range harness.BuiltinLanguages(t) {
		known, ok := harness.LanguageTests[l.Name]
		if !ok {
			t.Errorf("language %s has no entry in the table: how it is tested", l.Name)
		}
		if ok && harness.Chosen(l.Name, known.OnlyAll) {
			t.Run(l.Name, func(t *testing.T) { testLanguage(t, b, l, known, some) })
		}
	}
}

func testLanguage(t *testing.T, b harness.Bench, l languages.Manifest, known harness.LanguageTest, some *harness.Share) {
	harness.Images.Load(t, b.Agent, l.Image)
	if *harness.Update {
		harness.Images.Load(t, newUsual.plain, l.Image)
	}
	if harness.RegistryImages[l.Image] == "" { // brig builds it
		b.Test(t, "image", func(t *testing.T) { cleanImage(t, b.Agent, l.Image) })
	}

	for _, c := range languageCases {
		run, ok := languageRun(t, l, c.name)
		switch why := known.Without[c.name]; {
		case ok && why != "":
			t.Errorf("there is a program %s, though %s", c.name, why)
		case !ok && why == "" && !c.optional:
			t.Errorf("there is no program %s, and no reason for that", c.name)
		case ok && c.name != "hello" && c.name != "broken" && some.LeavesOut(c.name):
			continue
		case ok:
			if c.change != nil {
				c.change(&run)
			}
			if c.name == "memory" && l.Name == "bash" { // it takes 15 s for 512 MiB
				run.Limits.Memory = 64 * api.MiB
			}
			b.Test(t, c.name, func(t *testing.T) {
				res := b.MustRun(t, run)
				c.check(t, l, res)
				if slices.Contains(usualCases, c.name) {
					wantUsual(t, l, run, res)
				}
			})
		}

		if ok && slices.Contains(strictLanguages, l.Name) && (c.singleProcess || c.name == "child") {
			strict := run // run is still to be used
			strict.Profile = "strict"
			b.Test(t, c.name+" under strict", func(t *testing.T) { underStrict(t, l, c, b.MustRun(t, strict)) })
		}
	}

	testTools(t, b, l, known)
	b.Test(t, "version", func(t *testing.T) {
		res := b.MustRun(t, versionRun(l))
		harness.WantVerdict(t, res, api.OK)
		said := slices.Concat(res.Stdout, res.Stderr)
		number := l.Version[strings.LastIndexByte(l.Version, ' ')+1:] // as in Mono 6.12
		if !regexp.MustCompile(`(^|[^0-9.])` + regexp.QuoteMeta(number) + `($|[^0-9])`).Match(said) {
			t.Errorf("%q says %.200q; the manifest says %s", known.Version, said, l.Version)
		}
	})

	for _, ext := range l.Extensions {
		b.Test(t, "brig run ."+ext, func(t *testing.T) {
			run, _ := languageRun(t, l, "hello")
			file := filepath.Join(t.TempDir(), strings.TrimSuffix(l.SourceFile, filepath.Ext(l.SourceFile))+"."+ext)
			if err := os.WriteFile(file, run.Source, 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(harness.Binary(t, "brig"), "run", "--socket", b.Socket, "--wall", "120s", file).CombinedOutput()
			if err != nil || string(out) != "hello, world\n" {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

// underStrict: a program that is one process behaves the same as under its own tier, and one that
// starts a child fails to.
func underStrict(t *testing.T, l languages.Manifest, c languageCase, res api.Result) {
	if c.singleProcess {
		c.check(t, l, res)
	} else if res.Verdict == api.OK || bytes.Contains(res.Stdout, []byte("from a child")) {
		t.Errorf("verdict %s, stdout %q: it has a child under the tier strict", res.Verdict, res.Stdout)
	}
}

func versionRun(l languages.Manifest) api.Run {
	profile := l.Tier
	if len(l.Compile) > 0 {
		profile = l.CompileTier
	}
	return api.Run{Language: l.Name, Argv: harness.LanguageTests[l.Name].Version, Profile: profile,
		Limits: api.Limits{Wall: harness.Slowly(120)}}
}

// languageRun returns the run of a case's program; false if there is none.
func languageRun(t testing.TB, l languages.Manifest, name string) (api.Run, bool) {
	t.Helper()
	dir := filepath.Join(harness.LanguagePrograms, strings.TrimSuffix(l.Name, "-full"))
	several, err := filepath.Glob(filepath.Join(dir, name, "*"))
	if err != nil {
		t.Fatal(err)
	}

	run := api.Run{Language: l.Name, Collect: api.Collect{None: true}}
	run.Limits.Wall = harness.Slowly(120) // next to other tests PowerShell's start met the usual 30 s
	if len(l.Compile) > 0 {               // the compiler's speed is not tested
		run.CompileLimits = api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(60)}
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
