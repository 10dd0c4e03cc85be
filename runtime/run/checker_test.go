package run

import (
	"errors"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A checker that cannot be started is the error check-failed, and nothing in it says compile-error of the
// program under test.
func TestABrokenCheckerIsNoVerdict(t *testing.T) {
	for _, broken := range []error{&plan.InvalidSource{Reason: "too large"}, &plan.InvalidArtifact{Reason: "a library"}} {
		err := ofProgram("checker", broken)
		var source *plan.InvalidSource
		var artifact *plan.InvalidArtifact
		if !api.HasCode(err, api.CodeCheckFailed) || errors.As(err, &source) || errors.As(err, &artifact) {
			t.Errorf("%v", err)
		}
	}
	if err := ofProgram("checker", nil); err != nil {
		t.Error(err)
	}
}

// The files of a checker count as memory of it, before anything is executed.
func TestTheFilesOfACheckerMustFit(t *testing.T) {
	small := &plan.Job{Run: &plan.Run{Limits: api.Limits{Memory: api.GiB}}}
	large := &plan.Job{Run: &plan.Run{Source: "a.py", Limits: api.Limits{Memory: api.MinMemory},
		Files: []api.File{{Name: "a.py", Content: make([]byte, api.MiB)}}}}
	for _, j := range []*plan.Job{{Run: small.Run, Checker: large}, {Run: small.Run, Interactor: large}} {
		res, err := (&Runner{}).runJob(t.Context(), j, Streams{}, 0)
		if !api.HasCode(err, api.CodeCheckFailed) {
			t.Errorf("%s, %v", res.Verdict, err)
		}
	}
}

// The error of a test is that of the job if the test counts, in whatever order the tests end.
func TestErrorsOfTestsCountInTheirOrder(t *testing.T) {
	wrong, right := api.WrongAnswer, api.Accepted
	one, two := errors.New("one"), errors.New("two")
	type end struct {
		i      int
		answer api.Answer
		err    error
	}

	for _, tt := range []struct {
		name string
		stop bool
		ends []end
		want error
	}{
		{"dropped: skipped later", true, []end{{1, "", two}, {0, wrong, nil}}, nil},
		{"dropped: skipped before", true, []end{{0, wrong, nil}, {1, "", two}}, nil},
		{"counted later", true, []end{{1, "", two}, {0, right, nil}}, two},
		{"no stop", false, []end{{1, "", two}, {0, wrong, nil}}, two},
		{"the first of two", false, []end{{1, "", two}, {0, "", one}}, one},
		{"the first of two, in order", false, []end{{0, "", one}, {1, "", two}}, one},
	} {
		var reported []string
		r := &testRun{job: &plan.Job{Request: api.Run{StopAtFailure: tt.stop, Tests: []api.Test{{ID: "0"}, {ID: "1"}, {ID: "2"}}}},
			report: func(res api.TestResult) { reported = append(reported, res.ID) }}
		r.prepare()
		canceled := false
		for range 3 {
			if i, _, _ := r.nextIndex(t.Context()); i < 0 {
				t.Fatal("no test begins")
			}
		}

		r.cancels[2] = func() { canceled = true }
		for _, e := range tt.ends {
			r.finish(e.i, api.TestResult{ID: string(rune('0' + e.i)), Answer: e.answer, Result: api.Result{Verdict: api.OK}}, e.err)
		}

		if got := r.errs[r.failed]; !errors.Is(got, tt.want) {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
		if i, _, _ := r.nextIndex(t.Context()); i >= 0 || canceled != (tt.want != nil) {
			t.Errorf("%s: test %d begins; the third one is canceled: %v", tt.name, i, canceled)
		}
		if tt.want == nil && (len(reported) != 1 || r.standing[1] != judge.Skipped) {
			t.Errorf("%s: reported %q", tt.name, reported)
		}
	}
}

// A program that left no output file is wrong whatever is expected, and nothing of a pass before
// remains.
func TestRefuseMissing(t *testing.T) {
	score := 1.0
	out := api.TestResult{Answer: api.Accepted, Score: &score, Points: &score, Message: "well done", Checker: &api.ProgramOutcome{}, Passes: 2}
	refuseMissing(&out, "the program left no file output.txt")
	if out.Accepted() || out.Score != nil || out.Points != nil || out.Message != "" || out.Checker != nil ||
		out.Difference == "" || out.Passes != 2 {
		t.Errorf("%+v", out)
	}
}

// The error of what judges says what the test does not give it.
func TestAFailedCheckerIsToldWhatTheTestLacks(t *testing.T) {
	none := api.Bytes("")
	for name, tt := range map[string]struct {
		test api.Test
		want string
	}{
		"nothing": {api.Test{ID: "1"}, "; the test has no input and no expected output: if the checker reads it, set stdin and expected"},
		"no expected output": {api.Test{ID: "1", Stdin: []byte("5")},
			"; the test has no expected output: if the checker reads it, set expected"},
		"an empty expected output": {api.Test{ID: "1", StdinBlob: "b", Expected: &none}, ""},
		"an expected blob":         {api.Test{ID: "1", ExpectedBlob: "b"}, "; the test has no input: if the checker reads it, set stdin"},
	} {
		err := checkFailed("checker", tt.test, api.Result{ExitCode: 9}, errors.New("why"))
		if want := `test "1": the checker failed: why (exit code 9, stderr: it wrote nothing)` + tt.want; !api.HasCode(err, api.CodeCheckFailed) ||
			err.Error() != want {
			t.Errorf("%s: %v; want %s", name, err, want)
		}
	}
}
