package grading

import (
	"bytes"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// fileRun is a run of a script that reads input.txt and writes output.txt.
func fileRun(script string, tests ...api.Test) api.Run {
	r := harness.Sh(script)
	r.InputFile, r.OutputFile, r.Tests = "input.txt", "output.txt", tests
	return r
}

// The input of a test is in a file, stdin is empty, and the file that the program leaves is judged.
// What it prints does not count, and neither do files that a submission brings under these names.
func TestNamedFiles(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	blob, err := a.PutBlob(t.Context(), []byte("blob\n"))
	if err != nil {
		t.Fatal(err)
	}

	r := fileRun(`read -r mode <input.txt; [ "$(cat)" = "" ] || exit 9; [ ! -e output.txt ] || exit 8
		case $mode in right) echo 42 >output.txt; echo 7;; wrong) echo 41 >output.txt; echo 42;; none) echo 42;; fail) echo 42 >output.txt; exit 3;; empty) : >output.txt;;
			blob) cp input.txt output.txt;; long) head -c 200000 /dev/zero | tr '\0' x >output.txt;; esac`,
		api.Test{ID: "right", Stdin: []byte("right\n"), Expected: harness.Expected("42\n")},
		api.Test{ID: "wrong", Stdin: []byte("wrong\n"), Expected: harness.Expected("42\n")},
		api.Test{ID: "missing", Stdin: []byte("none\n"), Expected: harness.Expected("42\n")},
		api.Test{ID: "missing, nothing expected", Stdin: []byte("none\n"), Expected: harness.Expected("")},
		api.Test{ID: "missing, not compared", Stdin: []byte("none\n")},
		api.Test{ID: "empty", Stdin: []byte("empty\n"), Expected: harness.Expected("")},
		api.Test{ID: "fail", Stdin: []byte("fail\n"), Expected: harness.Expected("42\n")},
		api.Test{ID: "blob", StdinBlob: blob, ExpectedBlob: blob},
		api.Test{ID: "long", Stdin: []byte("long\n"), Expected: harness.Expected(strings.Repeat("x", 200000))},
		api.Test{ID: "too long", Stdin: []byte("long\n"), Expected: harness.Expected(strings.Repeat("x", 200000)),
			Limits: api.Limits{Output: 128 * api.KiB}},
	)

	r.Files = []api.File{{Name: "input.txt", Content: []byte("their own sample")}, {Name: "output.txt", Content: []byte("42\n")}}
	res := a.MustRun(t, r)
	for i, want := range []struct {
		verdict    api.Verdict
		answer     api.Answer
		output     string
		difference string
	}{
		{api.OK, api.Accepted, "42\n", ""},
		{api.OK, api.WrongAnswer, "41\n", "line 1"},
		{api.OK, api.WrongAnswer, "", "the program left no file output.txt"},
		{api.OK, api.WrongAnswer, "", "the program left no file output.txt"},
		{api.OK, api.WrongAnswer, "", "the program left no file output.txt"},
		{api.OK, api.Accepted, "", ""},
		{api.Nonzero, "", "42\n", ""},
		{api.OK, api.Accepted, "blob\n", ""},
		{api.OK, api.Accepted, strings.Repeat("x", 64<<10), ""},
		{api.OK, api.WrongAnswer, "", "output.txt is too large: it has 195.3K, and limits.output is 128K"},
	} {
		one := res.Tests[i]
		if one.Result.Verdict != want.verdict || one.Answer != want.answer || string(one.Output) != want.output ||
			!strings.HasPrefix(one.Difference, want.difference) || one.Cut != (one.ID == "long") {
			t.Errorf("%s: %s, %q, %d bytes of output, cut %v, %q", one.ID, one.Result.Verdict, one.Answer, len(one.Output), one.Cut, one.Difference)
		}
	}

	if s := res.Summary; s.Accepted != 4 || s.Answer != api.WrongAnswer {
		t.Errorf("summary %+v", s)
	}
}

// Either of the two may be stdin or stdout. Directories of their names are there.
func TestOneNamedFile(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	r := fileRun("cat data/in/a.txt", api.Test{ID: "1", Stdin: []byte("x\n"), Expected: harness.Expected("x\n")})
	r.InputFile, r.OutputFile = "data/in/a.txt", ""
	if one := a.MustRun(t, r).Tests[0]; one.Answer != api.Accepted || one.Output != nil {
		t.Errorf("input alone: %s, output %q", one.Answer, one.Output)
	}
	r = fileRun("cat >data/out/a.txt", api.Test{ID: "1", Stdin: []byte("x\n"), Expected: harness.Expected("x\n")})
	r.InputFile, r.OutputFile = "", "data/out/a.txt"
	if one := a.MustRun(t, r).Tests[0]; one.Answer != api.Accepted || string(one.Output) != "x\n" {
		t.Errorf("output alone: %s, output %q", one.Answer, one.Output)
	}
}

// A checker gets the content of the file as the output, and is not run if there is none.
func TestNamedFilesAndCheckers(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	r := fileRun(`read -r n <input.txt; echo noise; [ $n = 0 ] || echo $((n*n)) >output.txt`, api.Test{ID: "1", Stdin: []byte("3\n")},
		api.Test{ID: "2", Stdin: []byte("4\n")}, api.Test{ID: "3", Stdin: []byte("0\n")})
	r.Check = checker(api.ProtocolCMS, `read -r n <$1; read -r got <$3; [ $got = $((n*n)) ] && [ $n = 3 ] && echo 1 || echo 0.5; echo ran >&2`)
	res := a.MustRun(t, r)
	for i, want := range []struct {
		answer api.Answer
		score  float64
	}{{api.Accepted, 1}, {api.Partial, 0.5}, {api.WrongAnswer, -1}} {
		one := res.Tests[i]
		if one.Answer != want.answer || score(one) != want.score || (one.Checker != nil) != (i < 2) || (one.Difference != "") != (i == 2) {
			t.Errorf("%s: %s, score %v, checker %v, %q", one.ID, one.Answer, score(one), one.Checker, one.Difference)
		}
	}

	if s := res.Summary.Score; s == nil || *s != 0.5 {
		t.Errorf("score %v; want that of three tests, one of them with nothing", s)
	}

	// The input of each pass is in the file, and each pass must leave its own output.
	r = fileRun(`read -r n <input.txt; [ ! -e output.txt ] || exit 9; [ $n = 5 ] || echo $n >output.txt`,
		api.Test{ID: "3 passes", Stdin: []byte("1\n")}, api.Test{ID: "the second leaves none", Stdin: []byte("4\n")})
	r.Passes = 3
	r.Check = checker(api.ProtocolKattis,
		`read -r n <$1; read -r got; [ "$got" = $n ] || exit 43; [ $n = 3 ] || echo $((n+1)) >$3/nextpass.in; exit 42`)
	res = a.MustRun(t, r)
	if one := res.Tests[0]; one.Answer != api.Accepted || one.Passes != 3 || string(one.Output) != "3\n" {
		t.Errorf("%s: %s after %d passes, output %q", one.ID, one.Answer, one.Passes, one.Output)
	}
	if one := res.Tests[1]; one.Answer != api.WrongAnswer || one.Passes != 2 || one.Difference == "" || one.Checker != nil {
		t.Errorf("%s: %s after %d passes, %q", one.ID, one.Answer, one.Passes, one.Difference)
	}
}

// A test has files of its own in addition to those of the run, and no other test's. It can read
// them, and not change them.
func TestFilesOfATest(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	blob, err := a.PutBlob(t.Context(), []byte("large\n"))
	if err != nil {
		t.Fatal(err)
	}

	r := harness.Sh(`cat; for f in common words d/words; do [ ! -e $f ] || { echo $f $(cat $f); echo x 2>/dev/null >>$f || echo read-only; }; done`)
	r.Files = []api.File{{Name: "common", Content: []byte("all")}, {Name: "words", Content: []byte("of the run")}}
	r.Tests = []api.Test{
		{ID: "1", Stdin: []byte("in\n"), Files: []api.File{{Name: "words", Content: []byte("of the test")}, {Name: "d/words", Blob: blob}},
			Expected: harness.Expected("in\ncommon all\nwords of the test\nread-only\nd/words large\nread-only\n")},
		{ID: "2", Expected: harness.Expected("common all\nwords of the run\n")},
	}

	for _, one := range a.MustRun(t, r).Tests {
		if one.Answer != api.Accepted {
			t.Errorf("%s: %s: %q", one.ID, one.Difference, one.Result.Stdout)
		}
	}

	r.Tests[0].Files[1].Blob = strings.Repeat("0a", 32)
	a.Refused(t, r, api.CodeNoBlob)
}

// The files of a test take nothing of the program's memory and scratch: the same limits are enough
// whether it reads stdin or a file.
func TestNamedFilesAreNoMemoryOfTheProgram(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	content := bytes.Repeat([]byte("0123456789abcde\n"), 2<<20) // 32 MiB
	blob, err := a.PutBlob(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}

	limits := api.Limits{Memory: 16 * api.MiB, Scratch: api.MiB}
	named := fileRun("wc -c <input.txt >output.txt; tail -c 16 input.txt >>output.txt",
		api.Test{ID: "1", StdinBlob: blob, Expected: harness.Expected("33554432\n0123456789abcde\n")})
	named.Limits = limits
	piped := harness.Sh("wc -c")
	piped.Limits, piped.Tests = limits, []api.Test{{ID: "1", StdinBlob: blob, Expected: harness.Expected("33554432\n")}}
	for what, r := range map[string]api.Run{"a file": named, "stdin": piped} {
		one := a.MustRun(t, r).Tests[0]
		if one.Answer != api.Accepted {
			t.Errorf("%s: %s, %s", what, one.Result.Verdict, one.Difference)
		}
		if m := one.Result.Usage.Memory.Value; m == nil || *m > 8<<20 {
			t.Errorf("%s: %v of memory", what, m)
		}
	}

	// As a file of the run, which the program may write to, it is memory (MEM-19).
	own := harness.Sh("true")
	own.Limits, own.Files = limits, []api.File{{Name: "input.txt", Blob: blob}}
	a.Refused(t, own, api.CodeBadFile)
}

// What cannot be is refused before anything runs.
func TestNamedFilesThatCannotBe(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "1")
	r := harness.CompiledRun("mkdir lib; : >lib/x; : >main; chmod +x main")
	r.Tests = []api.Test{{ID: "1"}}
	for _, name := range []string{"main", "main/x", "lib/input.txt"} {
		r.InputFile, r.OutputFile = name, ""
		a.Refused(t, r, api.CodeBadFile)
		r.InputFile, r.OutputFile = "", name
		a.Refused(t, r, api.CodeBadFile)
		r.OutputFile = ""
		r.Tests[0].Files = []api.File{{Name: name}}
		a.Refused(t, r, api.CodeBadFile)
		r.Tests[0].Files = nil
	}
}

// Programs that begin from a template read and write the same files as those with the ordinary
// start. A file that could be a module of the interpreter's is none of a template that has imported
// others.
func TestNamedFilesFromTemplates(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	r := harness.Py("import os, sys\nn = int(open('input.txt').read())\nopen('output.txt', 'w').write(f'{n*n} " +
		"{sys.stdin.read()!r} {sorted(os.listdir())} {open(\"words\").read()}')")
	r.InputFile, r.OutputFile = "input.txt", "output.txt"
	r.Tests = []api.Test{{ID: "1", Stdin: []byte("12\n"), Files: []api.File{{Name: "words", Content: []byte("ours")}}}}
	var outputs []string
	for _, cold := range []bool{false, true} {
		r.NoTemplate = cold
		res := a.MustRun(t, r)
		if res.Host.Template == cold {
			t.Errorf("no template asked %v: %+v", cold, res.Host)
		}
		outputs = append(outputs, string(res.Tests[0].Output))
	}

	if want := "144 '' ['input.txt', 'main.py', 'output.txt', 'words'] ours"; outputs[0] != want || outputs[1] != want {
		t.Errorf("outputs %q; want %q twice", outputs, want)
	}

	r.NoTemplate = false
	r.Tests[0].Files[0].Name = ".local/words"
	harness.WantOrdinaryStart(t, a.MustRun(t, r), ".local/words")
}

// What judges a test has room for its files, although its limit of scratch is smaller than each of them.
func TestAnswersLargerThanTheScratchOfWhatJudges(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	const line = "0123456789abcde\n"
	large := []byte(strings.Repeat(line, 2<<20/len(line)))
	small := api.Limits{Scratch: 64 * api.KiB, Memory: 64 * api.MiB}
	for name, of := range map[string]func(*api.Run){
		"a checker": func(r *api.Run) {
			r.Check = checker(api.ProtocolDMOJ, `cmp "$2" "$3" && cmp "$1" "$2" && echo x >own`)
			r.Check.Limits = small
		},
		"an interactor": func(r *api.Run) {
			r.Interactor = interactor(api.ProtocolKattis, `cat "$1"; cat >/dev/null; cmp "$1" "$2" && echo x >own && exit 42`)
			r.Interactor.Limits = small
		},
		"a manager": func(r *api.Run) {
			r.Interactor = manager(`exec 3<"$1" 4>"$2"; cat input.txt >&4; read g <&3; echo x >own && echo 1`, 1, api.StdIO)
			r.Interactor.Limits = small
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := harness.Sh(`cat`)
			r.Limits = api.Limits{Output: 8 * api.MiB, Wall: harness.Slowly(30)}
			if r.Tests = []api.Test{{ID: "1", Stdin: large, Expected: (*api.Bytes)(&large)}}; name != "a checker" {
				r.Argv = harness.Sh(`head -c 2097152 >/dev/null; echo 1; exec >&-`).Argv
			}
			of(&r)
			if one := a.MustRun(t, r).Tests[0]; one.Result.Verdict != api.OK || one.Answer != api.Accepted {
				t.Errorf("%s, %s: %s", one.Result.Verdict, one.Answer, one.Message)
			}
		})
	}
}
