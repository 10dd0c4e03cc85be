package diagnose_test

import (
	"flag"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/diagnose"
	"github.com/brig-sandbox/brig/diagnose/diagnosetest"
)

var update = flag.Bool("update", false, "write the diagnoses into testdata")

// TestRealOutputs diagnoses what real runs printed: TestDiagnoses of package e2e
// keeps it in testdata.
func TestRealOutputs(t *testing.T) {
	languages, err := diagnosetest.Languages("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range languages {
		cases, err := diagnosetest.Read("testdata", language)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			t.Run(language+"/"+c.Name, func(t *testing.T) {
				got := diagnose.Of(language, c.Run.SourceName, c.Result)
				if *update {
					c.Want = got
				}
				if got == nil {
					t.Fatalf("no diagnosis of verdict %q: run TestDiagnoses of package e2e with -update", c.Result.Verdict)
				}
				if !reflect.DeepEqual(got, c.Want) {
					t.Errorf("got  %+v\nwant %+v\nof %s: %s%s", got, c.Want, c.Result.Verdict, c.Result.Stdout, c.Result.Stderr)
				}
				if strings.ContainsAny(got.Hint, "%\n") {
					t.Errorf("hint %q is no plain line", got.Hint)
				}
			})
		}
		if *update {
			if err := diagnosetest.Write("testdata", language, cases); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestTheVerdictDecidesFirst(t *testing.T) {
	fake := []byte("Traceback (most recent call last):\n  File \"/box/main.py\", line 3, in f\nNameError: name 'x' is not defined\n")
	for _, tt := range []struct {
		name     string
		r        api.Result
		category api.Category
		typ      string
	}{
		{"memory before what was printed", api.Result{Verdict: api.MemoryLimit}, api.CategoryMemory, "memory-limit"},
		{"processor time", api.Result{Verdict: api.CPULimit}, api.CategoryTime, "cpu-limit"},
		{"wall time", api.Result{Verdict: api.WallLimit}, api.CategoryTime, "wall-limit"},
		{"output", api.Result{Verdict: api.OutputLimit}, api.CategoryOutput, "output-limit"},
		{"a denied call by its name", api.Result{Verdict: api.Denied, Denial: &api.Denial{Syscall: "ptrace"}}, api.CategoryDenied, "ptrace"},
		{"a denial without a name", api.Result{Verdict: api.Denied}, api.CategoryDenied, "denied"},
		{"an exit code alone counts what was printed", api.Result{Verdict: api.Nonzero, ExitCode: 1}, api.CategoryRuntime, "NameError"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.Stderr = fake
			if d := diagnose.Of("python", "main.py", tt.r); d == nil || d.Category != tt.category || d.Type != tt.typ || d.Message == "" {
				t.Errorf("%+v; want %s, %s and a message", d, tt.category, tt.typ)
			}
		})
	}
}

func TestNobodyIsToldOfARunThatDidNotFail(t *testing.T) {
	for _, v := range []api.Verdict{api.OK, api.Canceled, ""} {
		if d := diagnose.Of("python", "main.py", api.Result{Verdict: v, Stderr: []byte("Traceback (most recent call last):\nNameError: x\n")}); d != nil {
			t.Errorf("verdict %q: %+v; want none", v, d)
		}
	}
}

func TestAnyLanguageHasItsVerdictExplained(t *testing.T) {
	d := diagnose.Of("klingon", "", api.Result{Verdict: api.Signaled, Signal: 11, SignalName: "SIGSEGV"})
	if d == nil || d.Category != api.CategorySignal || d.Type != "SIGSEGV" || d.Hint == "" {
		t.Errorf("%+v; want SIGSEGV explained", d)
	}
	d = diagnose.Of("", "", api.Result{Verdict: api.Nonzero, ExitCode: 3})
	if d == nil || d.Message != "exit code 3" || d.Hint != "" {
		t.Errorf("%+v; want exit code 3 and no hint", d)
	}
	d = diagnose.Of("", "", api.Result{Verdict: api.Nonzero, ExitCode: 3, LimitsHit: []string{api.HitPids}, Limits: api.Limits{Pids: 7}})
	if d == nil || !strings.Contains(d.Hint, "at most 7") {
		t.Errorf("%+v; want the limit that was met in the hint", d)
	}
}

// Which limit ends a fork bomb is chance: its hint does not depend on it.
func TestAForkBombIsNamedWhateverEndsIt(t *testing.T) {
	for verdict, bomb := range map[api.Verdict]bool{api.CPULimit: true, api.WallLimit: true, api.MemoryLimit: true, api.OutputLimit: false} {
		r := api.Result{Verdict: verdict, LimitsHit: []string{"other", api.HitPids}, Limits: api.Limits{Pids: 7}}
		d := diagnose.Of("python", "main.py", r)
		r.LimitsHit = nil
		without := diagnose.Of("python", "main.py", r)
		if d == nil || without == nil || strings.HasPrefix(d.Hint, "it started processes or threads until all 7 were taken: look for a fork") != bomb || !strings.HasSuffix(d.Hint, without.Hint) {
			t.Errorf("%s: %+v; want a fork bomb named: %v, and what is said without: %+v", verdict, d, bomb, without)
		}
	}
}

func TestOnlyOwnFilesAreNamed(t *testing.T) {
	for printed, want := range map[string]string{
		`  File "/box/main.py", line 3`:                    "main.py:3",
		`  File "/box/lib/own.py", line 7`:                 "lib/own.py:7",
		`  File "/usr/lib/python3.13/json.py", line 3`:     "",
		`  File "/box/../etc/passwd", line 3`:              "",
		`  File "<string>", line 3`:                        "",
		`  File "<frozen importlib._bootstrap>", line 488`: "",
		`  File "/boxer/main.py", line 3`:                  "",
	} {
		r := api.Result{Verdict: api.Nonzero, Stderr: []byte("Traceback (most recent call last):\n" + printed + "\nValueError: no\n")}
		d := diagnose.Of("python", "main.py", r)
		got := ""
		if d != nil && d.File != "" {
			got = d.File + ":" + string(rune('0'+d.Line))
		}
		if got != want {
			t.Errorf("%s: placed at %q; want %q", printed, got, want)
		}
	}
}

// What beginners meet most is answered with what they should do.
func TestHintsSayWhatToDo(t *testing.T) {
	for _, tt := range []struct {
		language string
		verdict  api.Verdict
		printed  string
		want     string
	}{
		{"cpp", api.CompileError, "main.cpp:2:18: error: ‘vector’ is not a member of ‘std’\n", "there is no vector there: check the spelling, and include"},
		{"python", api.Nonzero, "Traceback (most recent call last):\nModuleNotFoundError: No module named 'numpy'\n", "the language python-full has numpy"},
		{"python-full", api.Nonzero, "Traceback (most recent call last):\nModuleNotFoundError: No module named 'numpy.lynalg'\n", "check its name"},
	} {
		r := api.Result{Verdict: tt.verdict, ExitCode: 1, Stderr: []byte(tt.printed)}
		if tt.verdict == api.CompileError {
			r.Stage = api.StageCompile
		}
		if d := diagnose.Of(tt.language, "main", r); d == nil || !strings.Contains(d.Hint, tt.want) {
			t.Errorf("%s, %q: %+v; want a hint with %q", tt.language, tt.printed, d, tt.want)
		}
	}
}

func TestTheWholeOfTestsHasTheWorstOnesDiagnosis(t *testing.T) {
	r := api.Result{Verdict: api.CPULimit, Tests: []api.TestResult{
		{ID: "1", Result: api.Result{Verdict: api.OK}},
		{ID: "2", Result: api.Result{Verdict: api.Nonzero, Stderr: []byte("Traceback (most recent call last):\nValueError: no\n")}},
		{ID: "3", Result: api.Result{Verdict: api.CPULimit}},
	}}
	diagnose.Into("python", "main.py", &r)
	if r.Diagnosis == nil || r.Diagnosis.Type != "cpu-limit" || r.Tests[0].Result.Diagnosis != nil || r.Tests[1].Result.Diagnosis.Type != "ValueError" {
		t.Errorf("whole %+v, tests %+v", r.Diagnosis, r.Tests)
	}
}

// Whatever is printed, work and fields are bounded. A program may print 256 MiB.
func TestHostileOutputIsBounded(t *testing.T) {
	for name, unit := range map[string]string{
		"newlines": "\n", "one line": "x", "quotes": "'`\"", "nuls": "\x00", "not UTF-8": "\xff\xfe", "colons": "a:1:", "brackets": "a(1,2): ",
		"frames": "  File \"/box/main.py\", line 1\n", "exceptions": "Traceback (most recent call last):\nValueError: x\n", "carets": "    ^^^^\n",
		"places": "main.c:1:1: error: expected ‘;’\n", "causes": "Caused by: a.B: c\n", "panics": "panic: x\n", "spaces": strings.Repeat(" ", 100) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			printed := []byte(strings.Repeat(unit, (8<<20)/len(unit)))
			for _, language := range everyLanguage {
				for _, v := range []api.Verdict{api.Nonzero, api.CompileError} {
					began := time.Now()
					d := diagnose.Of(language, "main.x", api.Result{Verdict: v, Stderr: printed, Stdout: printed})
					checkBounds(t, d)
					if took := time.Since(began); took > 10*time.Second { // a few milliseconds, were it alone
						t.Errorf("%s: took %s", language, took)
					}
				}
			}
		})
	}
}

var everyLanguage = []string{"", "python", "c", "cpp", "java", "javascript", "typescript", "go", "rust", "ruby", "php", "bash", "csharp", "perl", "lua", "pascal", "haskell"}

func checkBounds(t *testing.T, d *api.Diagnosis) {
	t.Helper()
	if d == nil || d.Category == "" || d.Type == "" || d.Message == "" {
		t.Fatalf("%+v lacks a category, type or message", d)
	}
	for field, most := range map[string]int{d.Type: 128, d.Message: 1024, d.File: 1024, d.Hint: 256, string(d.Category): 16} {
		if len(field) > most || !utf8.ValidString(field) || strings.ContainsAny(field, "\n\r\x00\x1b") {
			t.Errorf("%.200q: %d bytes; want at most %d, and one line of text", field, len(field), most)
		}
	}
	if d.Line < 0 || d.Column < 0 || d.File == "" && d.Line != 0 {
		t.Errorf("%s:%d:%d is no place", d.File, d.Line, d.Column)
	}
	if d.File != "" && api.FileName(d.File) != nil {
		t.Errorf("file %q is not below /box", d.File)
	}
}

// FuzzDiagnose: whatever a program prints, and however it ends, its diagnosis is
// bounded, and names no file outside /box.
func FuzzDiagnose(f *testing.F) {
	for _, language := range everyLanguage[1:] {
		cases, err := diagnosetest.Read("testdata", language)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range cases {
			f.Add(language, string(c.Result.Verdict), []byte(c.Result.Stdout), []byte(c.Result.Stderr))
		}
	}
	f.Fuzz(func(t *testing.T, language, verdict string, stdout, stderr []byte) {
		r := api.Result{Verdict: api.Verdict(verdict), Stdout: stdout, Stderr: stderr, Signal: len(stdout) % 3}
		if d := diagnose.Of(language, "main.x", r); d != nil {
			checkBounds(t, d)
		}
		all := diagnose.Errors(language, stderr)
		if len(all) > 100 {
			t.Errorf("%d errors; want at most 100", len(all))
		}
		for i := range all {
			checkBounds(t, &all[i])
		}
	})
}
