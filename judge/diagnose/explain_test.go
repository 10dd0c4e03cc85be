package diagnose_test

import (
	"flag"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose"
	"github.com/brig-sandbox/brig/judge/diagnose/diagnosetest"
)

var update = flag.Bool("update", false, "write the diagnoses into testdata")

// TestRealOutputs diagnoses the output of real runs, which TestDiagnoses of package e2e saves in
// testdata.
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
				got := diagnose.Explain(language, c.Run.SourceName, c.Run.Source, c.Result)
				if *update {
					c.Want = got
				}
				if got == nil {
					t.Fatalf("no diagnosis of verdict %q: run TestDiagnoses of ./internal/e2e/languages with -update (CONTRIBUTING.md)", c.Result.Verdict)
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
			if d := diagnose.Explain("python", "main.py", nil, tt.r); d == nil || d.Category != tt.category || d.Type != tt.typ || d.Message == "" {
				t.Errorf("%+v; want %s, %s and a message", d, tt.category, tt.typ)
			}
		})
	}
}

func TestNoDiagnosisForARunThatDidNotFail(t *testing.T) {
	for _, v := range []api.Verdict{api.OK, api.Canceled, ""} {
		if d := diagnose.Explain("python", "main.py", nil,
			api.Result{Verdict: v, Stderr: []byte("Traceback (most recent call last):\nNameError: x\n")}); d != nil {
			t.Errorf("verdict %q: %+v; want none", v, d)
		}
	}
}

func TestAnyLanguageHasItsVerdictExplained(t *testing.T) {
	d := diagnose.Explain("klingon", "", nil, api.Result{Verdict: api.Signaled, Signal: 11, SignalName: "SIGSEGV"})
	if d == nil || d.Category != api.CategorySignal || d.Type != "SIGSEGV" || d.Hint == "" {
		t.Errorf("%+v; want SIGSEGV explained", d)
	}

	d = diagnose.Explain("", "", nil, api.Result{Verdict: api.Nonzero, ExitCode: 3})
	if d == nil || d.Message != "exit code 3" || d.Hint != "" {
		t.Errorf("%+v; want exit code 3 and no hint", d)
	}

	d = diagnose.Explain("", "", nil,
		api.Result{Verdict: api.Nonzero, ExitCode: 3, LimitsHit: []string{api.HitPids}, Limits: api.Limits{Pids: 7}})
	if d == nil || !strings.Contains(d.Hint, "at most 7") {
		t.Errorf("%+v; want the limit that was met in the hint", d)
	}
}

// Any limit may end a fork bomb: the hint does not depend on which one does.
func TestAForkBombIsNamedWhateverEndsIt(t *testing.T) {
	for verdict, bomb := range map[api.Verdict]bool{api.CPULimit: true, api.WallLimit: true, api.MemoryLimit: true, api.OutputLimit: false} {
		r := api.Result{Verdict: verdict, LimitsHit: []string{"other", api.HitPids}, Limits: api.Limits{Pids: 7}}
		d := diagnose.Explain("python", "main.py", nil, r)
		r.LimitsHit = nil
		without := diagnose.Explain("python", "main.py", nil, r)
		if d == nil || without == nil ||
			strings.HasPrefix(d.Hint, "it started processes or threads up to the limit of 7: look for endless starts") != bomb ||
			!strings.HasSuffix(d.Hint, without.Hint) {
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
		d := diagnose.Explain("python", "main.py", nil, r)
		got := ""
		if d != nil && d.File != "" {
			got = d.File + ":" + string(rune('0'+d.Line))
		}
		if got != want {
			t.Errorf("%s: placed at %q; want %q", printed, got, want)
		}
	}
}

// For the most common errors of beginners, the hint says what to do.
func TestHintsSayWhatToDo(t *testing.T) {
	for _, tt := range []struct {
		language string
		verdict  api.Verdict
		printed  string
		want     string
	}{
		{"cpp", api.CompileError, "main.cpp:2:18: error: ‘vector’ is not a member of ‘std’\n",
			"there is no vector there: check the spelling, and include"},
		{"python", api.Nonzero, "Traceback (most recent call last):\nModuleNotFoundError: No module named 'numpy'\n",
			"the language python-full includes numpy"},
		{"python", api.Nonzero, "Traceback (most recent call last):\nModuleNotFoundError: No module named 'helper'\n",
			"add your own files with --file (files in a request)"},
		{"cpp", api.CompileError, "main.cpp:1:10: fatal error: util.h: No such file or directory\n",
			"add it to the program's files with --file (files in a request)"},
		{"c", api.CompileError, "main.c:2:23: error: implicit declaration of function ‘gets’; did you mean ‘fgets’?\n", "use fgets"},
		{"python-full", api.Nonzero,
			"Traceback (most recent call last):\nModuleNotFoundError: No module named 'numpy.lynalg'\n", "check its name"},
	} {
		r := api.Result{Verdict: tt.verdict, ExitCode: 1, Stderr: []byte(tt.printed)}
		if tt.verdict == api.CompileError {
			r.Stage = api.StageCompile
		}
		if d := diagnose.Explain(tt.language, "main", nil, r); d == nil || !strings.Contains(d.Hint, tt.want) {
			t.Errorf("%s, %q: %+v; want a hint with %q", tt.language, tt.printed, d, tt.want)
		}
	}
}

// The hint for a reached limit, or a refusal by the profile, names it and the option that changes
// it.
func TestHintsNameTheLimitAndItsFlag(t *testing.T) {
	limits := api.Limits{Scratch: 64 * api.MiB, Inodes: 10000, Pids: 100, OpenFiles: 256}
	trace := "Traceback (most recent call last):\n"
	clone := []api.Refusal{{Syscall: "clone", Profile: "strict", Errno: "EPERM", Count: 1}}
	for _, tt := range []struct {
		language, printed string
		hit               string
		refused           []api.Refusal
		want              string
	}{
		{"python", trace + "OSError: [Errno 28] No space left on device\n", api.HitScratch, nil,
			"the limit of both together is 64M; delete unneeded files, or raise the limit (--scratch, or scratch of limits in a request)"},
		{"python", trace + "OSError: [Errno 28] No space left on device: '9'\n", api.HitInodes, nil,
			"at most 10000 are allowed; delete unneeded files, or raise the limit (--inodes, or inodes of"},
		{"python", trace + "RuntimeError: can't start new thread\n", api.HitPids, nil,
			"at most 100 are allowed at once, or raise the limit (--pids, or pids of"},
		{"cpp", "terminate called after throwing an instance of 'std::system_error'\n  what():  Resource temporarily " +
			"unavailable\n", api.HitPids,
			nil, "at most 100 are allowed at once, or raise the limit (--pids"},
		{"java", "Exception in thread \"main\" java.lang.OutOfMemoryError: unable to create native thread: possibly " +
			"out of memory or process/resource limits reached\n", api.HitPids, nil, "(--pids"},
		{"python", trace + "OSError: [Errno 24] Too many open files: '/dev/null'\n", "", nil,
			"at most 256 are allowed at once; close each after use, or raise the limit (--open-files, or open_files " +
				"of limits in a request)"},
		{"c", "open: Too many open files\n", "", nil, "(--open-files"},
		{"go", "panic: open x: too many open files\n", "", nil, "(--open-files"},

		{"python", trace + "RuntimeError: can't start new thread\n", "", clone,
			"the profile strict refused clone (EPERM), which starts processes and threads: avoid that, or use a wider profile (--profile"},
		{"python", trace + "PermissionError: [Errno 1] Operation not permitted\n", "", clone, "the profile strict refused clone"},
		{"c", "fork: Operation not permitted\n", "", clone, "the profile strict refused clone"},
		{"python", trace + "RuntimeError: can't start new thread\n", "", nil, "the system refused one more process or thread"},
		{"python", trace + "PermissionError: [Errno 13] Permission denied: '/x'\n", "", clone, "only /box and /tmp"},
	} {
		r := api.Result{Verdict: api.Nonzero, ExitCode: 1, Stderr: []byte(tt.printed), Limits: limits, Refused: tt.refused}
		if tt.hit != "" {
			r.LimitsHit = []string{tt.hit}
		}
		if d := diagnose.Explain(tt.language, "main", nil, r); d == nil || !strings.Contains(d.Hint, tt.want) {
			t.Errorf("%s, %q: %+v; want a hint with %q", tt.language, tt.printed, d, tt.want)
		}
	}
}

// The errors of a program are in stdout if it has stderr's text, and only then.
func TestErrorsInMergedStdout(t *testing.T) {
	printed := []byte("Traceback (most recent call last):\n  File \"/box/main.py\", line 1, in <module>\nValueError: here\n")
	for merged, want := range map[bool]string{true: "ValueError", false: "nonzero"} {
		r := api.Result{Verdict: api.Nonzero, ExitCode: 1, Stdout: printed, StderrMerged: merged}
		if d := diagnose.Explain("python", "main.py", nil, r); d == nil || d.Type != want {
			t.Errorf("merged %v: %+v; want %s", merged, d, want)
		}
	}
}

// A limit of a process is named where it may be the cause, and nowhere else: that a process met it, nobody counts.
func TestHintsNameTheLimitsOfAProcess(t *testing.T) {
	trace := "Traceback (most recent call last):\n"
	mapped, data := api.Limits{AddressSpace: 256 * api.MiB}, api.Limits{AddressSpace: api.GiB, Data: 128 * api.MiB}
	files := api.Limits{FileSize: api.MiB}
	for _, tt := range []struct {
		printed, signal string
		limits          api.Limits
		hit             []string
		want            string // empty: no hint with a flag
	}{
		{trace + "MemoryError\n", "", mapped, nil, "at most 256M, used or not; use less memory, or smaller stacks of threads, " +
			"or raise the limit (--address-space, or address_space of limits in a request)"},
		{trace + "MemoryError\n", "", data, nil, "at most 128M privately"},
		{trace + "MemoryError\n", "", files, nil, ""},
		{trace + "ValueError: no\n", "", mapped, nil, ""},
		{trace + "OSError: [Errno 27] File too large\n", "", files, nil, "at most 1M are allowed for each; write less, or raise the " +
			"limit (--file-size, or file_size of limits in a request)"},
		{trace + "OSError: [Errno 27] File too large\n", "", mapped, nil, ""},
		{"", "SIGXFSZ", files, []string{api.HitFileSize}, "(--file-size"},
		{"", "SIGXFSZ", files, nil, ""},
		{"", "SIGSEGV", mapped, nil, "larger than the limit address_space also ends so"},
		{"", "SIGSEGV", files, nil, ""},
	} {
		r := api.Result{Verdict: api.Nonzero, ExitCode: 1, Stderr: []byte(tt.printed), Limits: tt.limits, LimitsHit: tt.hit}
		if tt.signal != "" {
			r.Verdict, r.SignalName = api.Signaled, tt.signal
		}
		d := diagnose.Explain("python", "main.py", nil, r)
		if d == nil || !strings.Contains(d.Hint, tt.want) || tt.want == "" && strings.Contains(d.Hint, "limit") {
			t.Errorf("%q %s %+v: %+v; want a hint with %q", tt.printed, tt.signal, tt.limits, d, tt.want)
		}
	}
}

// Between a program that waits and one that never waits, the host may have been busy; the
// measurements do not show which.
func TestWallLimitHintDependsOnProcessorTime(t *testing.T) {
	for _, tt := range []struct {
		cpu  time.Duration
		cpus float64
		want string
	}{
		{40 * time.Millisecond, 1, "it waited nearly all the time"},
		{400 * time.Millisecond, 1,
			"it got 400ms of processor time in 1s: it waited part of the time, or it is a loop that never ends on a busy host; " +
				"for judging limit the processor time (--cpu, or limits.cpu in a request), and the wall time to three times that"},
		{900 * time.Millisecond, 1, "look for a loop that never ends"},
		{400 * time.Millisecond, 0.5, "look for a loop that never ends"}, // 80 % of its share
		{400 * time.Millisecond, 2, "it got 400ms"},
	} {
		r := api.Result{Verdict: api.WallLimit, Limits: api.Limits{Wall: api.Duration(time.Second), CPUs: tt.cpus},
			Usage: api.Usage{CPU: api.Known(int64(tt.cpu), "")}}
		if d := diagnose.Explain("python", "main.py", nil, r); d == nil || !strings.HasPrefix(d.Hint, tt.want) {
			t.Errorf("%s of %v processors: %+v; want %q", tt.cpu, tt.cpus, d, tt.want)
		}
	}
}

// The hints cover line ends and the encoding of the file, which an editor does not show.
func TestHintsForLineEndsAndEncoding(t *testing.T) {
	for _, tt := range []struct {
		language, source, printed string
		want                      string
	}{
		{"bash", "if true; then\r\n echo\r\nfi\r\n", "x.sh: line 5: syntax error: unexpected end of file\n",
			`the script has Windows line ends (CR LF), which bash reads as part of its words: sed -i 's/\r$//' x.sh`},
		{"bash", "", "x.sh: line 1: syntax error near unexpected token `$'do\\r''\n", "Windows line ends"},
		{"bash", "cd /tmp\r\n", "x.sh: line 1: cd: $'/tmp\\r': No such file or directory\n", "Windows line ends"},
		{"bash", "if true\n", "x.sh: line 5: syntax error: unexpected end of file\n", "look for a missing fi"},
		{"bash", "exit 3\r\n", "", ""},
		{"bash", "echo $((1/0))\r\n", "x.sh: line 1: 1/0: division by 0 (error token is \"0\")\n", "look for a division"},
		{"python", "f(\r\n", "  File \"/box/x.sh\", line 1\n    f(\n     ^\nSyntaxError: '(' was never " +
			"closed\n", "the bracket ( is opened here"},
		{"python", "\xff\xfep\x00", "SyntaxError: Non-UTF-8 code starting with '\\xff' in file /box/x.sh on line 1\n",
			"the file is saved as UTF-16: save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8 x.sh >new-file"},
	} {
		d := diagnose.Explain(tt.language, "x.sh", []byte(tt.source), api.Result{Verdict: api.Nonzero, ExitCode: 1, Stderr: []byte(tt.printed)})
		if d == nil || !strings.Contains(d.Hint, tt.want) || tt.want == "" && d.Hint != "" {
			t.Errorf("%q, %q: %+v; want a hint with %q", tt.source, tt.printed, d, tt.want)
		}
	}
}

// A refused call is reported only if it may be the cause of the failure: not what every start of the
// language makes. Of a language without a record it is what no language makes.
func TestRelevantRefusals(t *testing.T) {
	failed := api.Result{Verdict: api.Nonzero, Stage: api.StageRun}
	compile := api.Result{Verdict: api.CompileError, Stage: api.StageCompile}
	for _, tt := range []struct {
		claim    string
		language string
		r        api.Result
		call     string
		errno    string
		printed  string
		want     bool
	}{
		{"what bash tries at its start", "bash", failed, "socket", "EAFNOSUPPORT", "x.sh: line 1: foo: command not found\n", false},
		{"without a word", "bash", failed, "socket", "EAFNOSUPPORT", "", false},
		{"of a command", "", failed, "socket", "EAFNOSUPPORT", "", false},
		{"of an operator's language", "own", failed, "socket", "EAFNOSUPPORT", "", false},
		{"what programs in C never try", "c", failed, "socket", "EAFNOSUPPORT", "", true},
		{"in a stage that never tries it", "bash", compile, "socket", "EAFNOSUPPORT", "", true},
		{"with another error", "bash", failed, "socket", "EPERM", "", true},
		{"its error printed", "bash", failed, "socket", "EAFNOSUPPORT", "OSError: [Errno 97] Address family not " +
			"supported by protocol\n", true},
		{"its error named", "bash", failed, "prctl", "EPERM", "Error: EPERM\n", true},
		{"another call, without a word", "", failed, "alarm", "EPERM", "", true},
		{"another call of a program that died", "python", api.Result{Verdict: api.Signaled, Stage: api.StageRun, Signal: 6},
			"alarm", "EPERM", "", true},
		{"a syntax error", "python", api.Result{Verdict: api.Nonzero, Diagnosis: &api.Diagnosis{Category: api.CategorySyntax}},
			"alarm", "EPERM", "", false},
		{"a run that is ok", "python", api.Result{Verdict: api.OK}, "alarm", "EPERM", "Operation not permitted\n", false},
	} {
		tt.r.Stderr = []byte(tt.printed)
		tt.r.Refused = []api.Refusal{{Syscall: tt.call, Profile: "default", Errno: tt.errno, Count: 2}}
		if got := diagnose.RelevantRefusals(tt.language, tt.r); len(got) == 1 != tt.want {
			t.Errorf("%s: %+v; want it told: %v", tt.claim, got, tt.want)
		}
		if tt.r.Verdict == api.OK {
			continue
		}
		tests := api.Result{Verdict: tt.r.Verdict, Tests: []api.TestResult{{Result: api.Result{Verdict: api.OK}}, {Result: tt.r}}}
		if got := diagnose.RelevantRefusals(tt.language, tests); len(got) == 1 != tt.want {
			t.Errorf("%s, in a test: %+v; want it told: %v", tt.claim, got, tt.want)
		}
	}
}

func TestRunWithTestsHasTheDiagnosisOfTheWorst(t *testing.T) {
	r := api.Result{Verdict: api.CPULimit, Tests: []api.TestResult{
		{ID: "1", Result: api.Result{Verdict: api.OK}},
		{ID: "2", Result: api.Result{Verdict: api.Nonzero, Stderr: []byte("Traceback (most recent call last):\nValueError: no\n")}},
		{ID: "3", Result: api.Result{Verdict: api.CPULimit}},
	}}
	diagnose.Annotate("python", "main.py", nil, &r)
	if r.Diagnosis == nil || r.Diagnosis.Type != "cpu-limit" || r.Tests[0].Result.Diagnosis != nil ||
		r.Tests[1].Result.Diagnosis.Type != "ValueError" {
		t.Errorf("whole %+v, tests %+v", r.Diagnosis, r.Tests)
	}
}

// For any output, the work and the fields are bounded. A program may print 256 MiB.
func TestHostileOutputIsBounded(t *testing.T) {
	for name, unit := range map[string]string{
		"newlines": "\n", "one line": "x", "quotes": "'`\"", "nuls": "\x00", "not UTF-8": "\xff\xfe", "colons": "a:1:", "brackets": "a(1,2): ",
		"frames": "  File \"/box/main.py\", line 1\n", "exceptions": "Traceback (most recent call last):\nValueError: x\n",
		"carets": "    ^^^^\n",
		"places": "main.c:1:1: error: expected ‘;’\n", "causes": "Caused by: a.B: c\n", "panics": "panic: x\n",
		"spaces": strings.Repeat(" ", 100) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			printed := []byte(strings.Repeat(unit, (8<<20)/len(unit)))
			for _, language := range everyLanguage {
				for _, v := range []api.Verdict{api.Nonzero, api.CompileError} {
					began := time.Now()
					d := diagnose.Explain(language, "main.x", nil, api.Result{Verdict: v, Stderr: printed, Stdout: printed})
					checkBounds(t, d)
					if took := time.Since(began); took > 10*time.Second { // a few milliseconds on an idle host
						t.Errorf("%s: took %s", language, took)
					}
				}
			}
		})
	}
}

var everyLanguage = []string{"", "python", "c", "cpp", "java", "javascript", "typescript", "go", "rust", "ruby", "php", "bash", "csharp",
	"fsharp", "vb", "mono", "powershell", "perl", "lua", "pascal", "haskell", "pypy", "ocaml", "kotlin", "scala", "swift", "d", "r", "sql",
	"fortran"}

func checkBounds(t *testing.T, d *api.Diagnosis) {
	t.Helper()
	if d == nil || d.Category == "" || d.Type == "" || d.Message == "" {
		t.Fatalf("%+v lacks a category, type or message", d)
	}

	for field, maximum := range map[string]int{d.Type: 128, d.Message: 1024, d.File: 1024, d.Hint: 256, string(d.Category): 16} {
		if len(field) > maximum || !utf8.ValidString(field) || strings.ContainsAny(field, "\n\r\x00\x1b") {
			t.Errorf("%.200q: %d bytes; want at most %d, and one line of text", field, len(field), maximum)
		}
	}

	if d.Line < 0 || d.Column < 0 || d.File == "" && d.Line != 0 {
		t.Errorf("%s:%d:%d is no place", d.File, d.Line, d.Column)
	}
	if d.File != "" && api.FileName(d.File) != nil {
		t.Errorf("file %q is not below /box", d.File)
	}
}

// FuzzDiagnose checks that for any output and any end of a program, the diagnosis is bounded and
// names no file outside /box.
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
		if d := diagnose.Explain(language, "main.x", nil, r); d != nil {
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

// A syntax checker that runs before the tests prints the place in another form than the program's
// own run: Ruby puts its name before it, PHP has no directory. The texts are those of Ruby 3.3 and
// PHP 8.4.
func TestSyntaxCheckersNameTheLine(t *testing.T) {
	for _, tt := range []struct {
		language, file, printed string
		line                    int
		message                 string
	}{
		{"ruby", "b.rb", "ruby: b.rb:3: dynamic constant assignment (SyntaxError)\ndef f; X = 3; end\n       ^\n", 3,
			"dynamic constant assignment"},
		{"ruby", "b.rb", "ruby: b.rb:3: unterminated string meets end of file (SyntaxError)\nputs \"abc\n         ^\n", 3,
			"unterminated string meets end of file"},
		{"ruby", "b.rb", "ruby: b.rb:4: syntax error, unexpected `end', expecting ')' (SyntaxError)\n", 4, "unexpected `end', expecting ')'"},
		{"php", "b.php", "Errors parsing b.php\nParse error: syntax error, unexpected token \"echo\" in b.php on line 3\n", 3,
			`syntax error, unexpected token "echo"`},
		{"php", "b.php", "Errors parsing b.php\nParse error: Unclosed '{' on line 2 in b.php on line 4\n", 4, "Unclosed '{' on line 2"},
		{"php", "a b.php", "Fatal error: Cannot redeclare function f() (previously declared in a b.php:2) in a b.php on line 3\n", 3,
			"Cannot redeclare function f() (previously declared in a b.php:2)"},

		// With -g the linker names the line next to the section.
		{"c", "b.c", "/usr/bin/ld: /tmp/ccX.o: in function `main':\n/usr/bin/ld: /box/b.c:2:(.text+0x9): undefined reference to `missing'\n", 2,
			"undefined reference to missing"},
	} {
		d := diagnose.Explain(tt.language, tt.file, nil,
			api.Result{Verdict: api.CompileError, Stage: api.StageCompile, ExitCode: 1, Stderr: []byte(tt.printed)})
		if d == nil || d.File != tt.file || d.Line != tt.line || d.Message != tt.message {
			t.Errorf("%s, %q: %+v; want %s:%d and %q", tt.language, tt.printed, d, tt.file, tt.line, tt.message)
		}
	}
}

// What .NET prints when a condition of Debug.Assert is false, and of an exception that has no hint of its own.
func TestFailuresOfDotnet(t *testing.T) {
	for stderr, want := range map[string]string{
		"Process terminated.\nAssertion failed.\nnope\n   at Program.<Main>$(String[] args) in /box/as.cs:line 1\n": "as.cs:1 a condition of Debug.Assert is false",
		"Unhandled exception. System.Exception: oops\n   at Main.main@() in /box/main.fs:line 7\n":                  "main.fs:7 the program threw this exception",
	} {
		got := diagnose.Explain("csharp", "main.cs", nil,
			api.Result{Verdict: api.Signaled, Signal: 6, SignalName: "SIGABRT", Stderr: []byte(stderr)})
		if got == nil || !strings.HasPrefix(fmt.Sprintf("%s:%d %s", got.File, got.Line, got.Hint), want) {
			t.Errorf("%q: %+v; want %s", stderr, got, want)
		}
	}
}
