package generate_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade/generate"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/format"
	"github.com/brig-sandbox/brig/judge/problem/problemtest"
)

// A shell executes programs of one word.
type shell struct {
	mu   sync.Mutex
	runs []string // guarded by mu; the word and the arguments of each run, and the name of its input file
	fail error    // of each run; nil: none

	limits api.Limits // guarded by mu; of the last run
}

func (*shell) Language(_ context.Context, name string) (api.Language, error) {
	return api.Language{Name: name}, nil
}

func (s *shell) Execute(_ context.Context, r api.Run, _ func()) (api.Result, *api.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	word, t := strings.TrimSpace(string(r.Source)), r.Tests[0]
	s.runs = append(s.runs, strings.TrimSpace(word+" "+strings.TrimSpace(strings.Join(t.Args, " ")+" "+r.InputFile)))
	s.limits = r.Limits
	if s.fail != nil {
		return api.Result{}, api.Fail(api.CodeInternal, "%w", s.fail)
	}

	one := api.Result{Verdict: api.OK, Limits: r.Limits}
	switch word {
	case "print":
		one.Stdout = api.Bytes(strings.Join(t.Args, " ") + "\n")
	case "double":
		one.Stdout = append(append(api.Bytes{}, t.Stdin...), t.Stdin...)
	case "file": // leaves a file with each name, if the run wants it
		for _, name := range r.Collect.Globs {
			name = strings.ReplaceAll(name, `\[`, "[")
			one.Files = append(one.Files, api.File{Name: name, Content: []byte("in " + name)})
		}

	case "large":
		one.Verdict, one.Stdout = api.OutputLimit, api.Bytes("lar")
	case "crash":
		one.Verdict, one.ExitCode, one.Stderr = api.Nonzero, 3, api.Bytes("no\nway")
	case "slow":
		one.Verdict = api.CPULimit
	case "nothing", "left":
	case "broken":
		return api.Result{Verdict: api.CompileError, ExitCode: 1, Stderr: api.Bytes("no such word")}, nil
	}

	out := api.TestResult{ID: t.ID, Result: one}
	if r.Interactor != nil {
		if string(*t.Expected) != "" || r.Check.Protocol != api.ProtocolTestlib {
			return api.Result{}, api.Refuse(api.CodeBadRequest, "an answer %q", *t.Expected)
		}

		switch string(r.Interactor.Source) {
		case "fails":
			return api.Result{}, api.Refuse(api.CodeCheckFailed, "no protocol")
		case "refuses":
			out.Answer, out.Message = api.WrongAnswer, "no"
		case "silent":
			out.Answer, out.Message = api.Accepted, "ok"
		case "floods":
			out.Answer, out.Message = api.Accepted, "ok too large"
		default: // it writes what the program does
			out.Answer, out.Message, out.Result.Stdout = api.Accepted, "ok "+base64.StdEncoding.EncodeToString(one.Stdout), nil
		}
	}

	return api.Result{Verdict: one.Verdict, Tests: []api.TestResult{out}}, nil
}

// standard writes a standard package whose generators and main solution are these words, and reads it. tests
// are the elements of problem.xml.
func standard(t *testing.T, solution string, tests ...string) (*problem.Problem, *problem.Tree) {
	t.Helper()
	return written(t, "", solution, "", tests...)
}

// interactive is standard with an interactor.
func interactive(t *testing.T, solution, interactor string, tests ...string) (*problem.Problem, *problem.Tree) {
	t.Helper()
	return written(t, "", solution, interactor, tests...)
}

// written writes such a package with attributes of judging, and an interactor unless that is empty.
func written(t *testing.T, judging, solution, interactor string, tests ...string) (*problem.Problem, *problem.Tree) {
	t.Helper()
	xml := `<problem short-name="words"><judging ` + judging +
		`><testset name="tests"><time-limit>1000</time-limit><memory-limit>268435456</memory-limit>
<test-count>` + fmt.Sprint(len(tests)) + `</test-count><input-path-pattern>tests/%02d</input-path-pattern><answer-path-pattern>tests/%02d.a</answer-path-pattern>
<tests>` + strings.Join(tests, "\n") + `</tests></testset></judging><files><executables>`
	files := map[string]string{"files/check.py": "check", "solutions/main.py": solution, "tests/01": "manual\n"}
	for _, word := range []string{"print", "file", "large", "crash", "slow", "nothing", "left", "broken"} {
		files["files/"+word+".py"] = word
		xml += `<executable><source path="files/` + word + `.py" type="python.3"/></executable>`
	}

	talks := ""
	if interactor != "" {
		files["files/talk.py"], talks = interactor, `<interactor><source path="files/talk.py" type="python.3"/></interactor>`
	}

	files["problem.xml"] = xml + `</executables></files><assets><checker><source path="files/check.py" type="python.3"/></checker>` + talks + `
<solutions><solution tag="main"><source path="solutions/main.py" type="python.3"/></solution></solutions></assets></problem>`
	whole := problemtest.Tree(t, files)
	p, tree, err := format.Read(whole)
	if err != nil {
		t.Fatal(err)
	}
	return p, tree
}

func options() generate.Options {
	return generate.Options{
		Alone: func(_ context.Context, r api.Run) (api.Result, *api.Error) {
			if string(r.Source) != "large" || r.Limits.Output != generate.MaxFile || len(r.Tests) > 0 {
				return api.Result{}, api.Refuse(api.CodeBadRequest, "%s was not expected to run alone", r.Source)
			}
			return api.Result{Verdict: api.OK, Stdout: api.Bytes(strings.Join(r.Argv, " ") + "\n")}, nil
		},
		Put: func(string, []byte) (string, error) { return "", errors.New("no blob was expected") },
		Each: func(n int, do func(int)) {
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { do(i) })
			}
			all.Wait()
		},
	}
}

const manual = `<test method="manual"/>`

func generated(cmd string) string { return `<test method="generated" cmd="` + cmd + `"/>` }

func TestMissing(t *testing.T) {
	p, tree := standard(t, "double", manual, generated("print 5 3"), generated("print 'a b'"), generated("large file"),
		`<test method="generated" cmd="file 9" from-file="[4]"/>`)
	if err := p.Whole(); err == nil || !strings.Contains(err.Error(), "9 files of its 5 tests are not in the package") {
		t.Errorf("the package says %v", err)
	}

	s, o := new(shell), options()
	shown, ended := 0, 0
	var mu sync.Mutex
	o.Progress = func(files int) (func(), func()) {
		shown = files
		return func() { mu.Lock(); ended++; mu.Unlock() }, func() {}
	}
	whole, made, err := generate.Missing(t.Context(), s, p, tree, o)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()

	if whole.Generate != nil || shown != 9 || ended != 9 {
		t.Errorf("%v is still to be made; %d files were announced, and %d made", whole.Generate, shown, ended)
	}

	for name, want := range map[string]string{
		"tests/01": "manual\n", "tests/01.a": "manual\nmanual\n", "tests/02": "5 3\n", "tests/02.a": "5 3\n5 3\n", "tests/03": "a b\n",
		"tests/04": "file\n", "tests/04.a": "file\nfile\n", "tests/05": "in [4]",
	} {
		if got, err := made.Read(name, 100); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}

	if tree.Has("tests/02") {
		t.Error("the tree that was read has changed")
	}
}

// Programs of a package ask for no more than the agent allows, also where the package has larger limits.
func TestLimitsStayWithinTheCeiling(t *testing.T) {
	p, tree := standard(t, "slow", manual)
	p.Limits.Time, p.Limits.Memory = 60e9, 8*api.GiB
	s, o := new(shell), options()
	o.Ceiling = api.Limits{CPU: 10e9, Wall: 12e9, Memory: 1 * api.GiB}
	_, _, err := generate.Missing(t.Context(), s, p, tree, o)
	if err == nil || !strings.Contains(err.Error(), "the main solution solutions/main.py took more than 10s of processor time") {
		t.Errorf("%v", err)
	}
	if want := (api.Limits{CPU: 10e9, Wall: 12e9, Memory: 1 * api.GiB}); s.limits != want {
		t.Errorf("the run asked for %+v, want %+v", s.limits, want)
	}
}

// Files that together are too large are a mistake of the package.
func TestTestsThatAreTooLargeTogether(t *testing.T) {
	_, small := standard(t, "double", manual, generated("print 1"), generated("print 2"))
	statement := filepath.Join(small.Label(), "statement")
	if err := os.WriteFile(statement, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	rest := 6 // for "1", "2" and their ends of line, and not for the answers
	for _, name := range small.Names() {
		rest += int(small.Size(name))
	}

	if err := os.Truncate(statement, int64(problem.MaxBytes)-int64(rest)); err != nil {
		t.Fatal(err)
	}

	whole, err := problem.Open(small.Label())
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()

	p, tree, err := format.Read(whole)
	if err != nil {
		t.Fatal(err)
	}

	_, _, err = generate.Missing(t.Context(), new(shell), p, tree, options())
	var failed *generate.FailedError
	if !errors.As(err, &failed) ||
		!strings.Contains(err.Error(), "tests/01.a: with it the files of the package are more than 4G (programs of the package)") {
		t.Errorf("%v", err)
	}
}

// Whatever a program does wrong is a mistake of the package that names the file, and the others are still
// made, so that an author sees all of them. A program that does not compile is tried once.
func TestFailures(t *testing.T) {
	p, tree := standard(t, "crash", manual, generated("crash 1"), generated("slow"), generated("nothing"), generated("broken 1"),
		generated("broken 2"), generated("print 7"))
	s := new(shell)
	_, _, err := generate.Missing(t.Context(), s, p, tree, options())
	var failed *generate.FailedError
	if !errors.As(err, &failed) {
		t.Fatalf("%v", err)
	}

	for _, want := range []string{
		"files/broken.py: it does not compile: no such word (programs of the package)\n",
		"tests/02: the generator files/crash.py, run as \"crash 1\", ended with exit code 3; stderr: \"no way\" " +
			"(programs of the package)\n",
		"tests/03: the generator files/slow.py, run as \"slow\", took more than 14s of processor time (programs of the package)\n",
		"tests/04: the generator files/nothing.py, run as \"nothing\", wrote nothing (programs of the package)",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error is\n%v\nand lacks\n%s", err, want)
		}
	}

	runs := strings.Join(s.runs, "\n")
	if strings.Contains(runs, "broken 2") || !strings.Contains(runs, "print 7") || strings.Count(runs, "crash") != 1 {
		t.Errorf("it ran\n%s", runs) // and no solution without all inputs
	}

	p, tree = standard(t, "crash", manual)
	if _, _, err := generate.Missing(t.Context(), new(shell), p, tree, options()); err == nil ||
		!strings.HasPrefix(err.Error(), "tests/01.a: the main solution solutions/main.py ended with exit code 3") {
		t.Errorf("%v", err)
	}

	p, tree = standard(t, "double", manual, `<test method="generated" cmd="left" from-file="2"/>`)
	if _, _, err := generate.Missing(t.Context(), new(shell), p, tree, options()); err == nil ||
		!strings.HasPrefix(err.Error(), `tests/02: the generator files/left.py, run as "left", left no file "2"`) {
		t.Errorf("%v", err)
	}
}

// The answer of an interactive problem is what the interactor wrote while the main solution talked with it.
func TestInteractiveAnswers(t *testing.T) {
	p, tree := interactive(t, "double", "copies", manual, generated("print 5"))
	_, made, err := generate.Missing(t.Context(), new(shell), p, tree, options())
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()

	for name, want := range map[string]string{"tests/01.a": "manual\nmanual\n", "tests/02.a": "5\n5\n"} {
		if got, err := made.Read(name, 100); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}

	p, tree = interactive(t, "double", "silent", manual)
	_, empty, err := generate.Missing(t.Context(), new(shell), p, tree, options())
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()

	if got, err := empty.Read("tests/01.a", 100); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}

	for interactor, want := range map[string]string{
		"refuses": `tests/01.a: the main solution solutions/main.py is not accepted by the interactor: "no" (programs of the package)`,
		"floods":  `tests/01.a: the main solution solutions/main.py and its interactor: that wrote more than 49000 bytes, which is the maximum for an answer that brig makes (programs of the package)`,
		"fails":   `tests/01.a: the main solution solutions/main.py, and its interactor: no protocol (programs of the package)`,
	} {
		p, tree := interactive(t, "double", interactor, manual)
		if _, _, err := generate.Missing(t.Context(), new(shell), p, tree, options()); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// The main solution reads and writes the files that the package names: what it prints is no answer.
func TestAnswersInFiles(t *testing.T) {
	p, tree := written(t, `input-file="in.txt" output-file="sub/out.txt"`, "file", "", manual, generated("print 5"))
	s := new(shell)
	_, made, err := generate.Missing(t.Context(), s, p, tree, options())
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()

	for _, name := range []string{"tests/01.a", "tests/02.a"} {
		if got, err := made.Read(name, 100); err != nil || string(got) != "in sub/out.txt" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}

	if want := []string{"print 5", "file in.txt", "file in.txt"}; !slices.Equal(s.runs, want) {
		t.Errorf("it ran %q; want %q", s.runs, want)
	}

	p, tree = written(t, `output-file="out.txt"`, "double", "", manual)
	if _, _, err := generate.Missing(t.Context(), new(shell), p, tree, options()); err == nil ||
		!strings.HasPrefix(err.Error(), `tests/01.a: the main solution solutions/main.py left no file "out.txt"`) {
		t.Errorf("%v", err)
	}

	// One that prints much runs again, without tests: the file is then one of the run.
	p, tree = written(t, `input-file="in.txt"`, "large", "", manual)
	o := options()
	var alone api.Run
	o.Alone = func(_ context.Context, r api.Run) (api.Result, *api.Error) {
		alone = r
		return api.Result{Verdict: api.OK, Stdout: api.Bytes("large")}, nil
	}
	_, large, err := generate.Missing(t.Context(), new(shell), p, tree, o)
	if err != nil {
		t.Fatal(err)
	}
	defer large.Close()

	if len(alone.Files) != 1 || alone.Files[0].Name != "in.txt" || string(alone.Files[0].Content) != "manual\n" ||
		alone.InputFile != "" || alone.Stdin != nil {
		t.Errorf("it ran with the files %+v, input_file %q and stdin %q", alone.Files, alone.InputFile, alone.Stdin)
	}
}

// A package with a thousand tests that all fail takes the time of a few.
func TestFailuresAreBounded(t *testing.T) {
	tests := []string{manual}
	for i := range 200 {
		tests = append(tests, generated(fmt.Sprintf("slow %d", i)))
	}

	p, tree := standard(t, "double", tests...)
	s, o := new(shell), options()
	o.Each = func(n int, do func(int)) {
		for i := range n {
			do(i)
		}
	}

	if _, _, err := generate.Missing(t.Context(), s, p, tree, o); err == nil || len(s.runs) != 10 ||
		!strings.Contains(err.Error(), "\ntests/12: after 10 failures this file was not tried, nor 189 others (programs of the package)") {
		t.Errorf("%d runs, %v", len(s.runs), err)
	}
}

// A failure of brig is no mistake of the package.
func TestFailuresOfBrig(t *testing.T) {
	p, tree := standard(t, "double", manual, generated("print 1"))
	_, _, err := generate.Missing(t.Context(), &shell{fail: errors.New("the agent is gone")}, p, tree, options())
	var failed *generate.FailedError
	if err == nil || errors.As(err, &failed) || !strings.Contains(err.Error(), "the agent is gone") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	if _, _, err := generate.Missing(ctx, new(shell), p, tree, options()); err == nil || err.Error() != "interrupted" {
		t.Errorf("%v", err)
	}
}
