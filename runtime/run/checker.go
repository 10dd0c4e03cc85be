package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// This file runs what judges a program. A checker is one more run, in a cell of its own, after the last
// process of the program has ended: the program can reach neither the checker nor the answer, because
// they are nowhere while it lives (GRD-01).

// prepareJudge compiles a checker or an interactor, once for all tests, and gets its template; nil is none.
// admitted says whether the job had a slot already. The caller releases the start.
func (r *Runner) prepareJudge(ctx context.Context, part string, j *plan.Job, streams Streams,
	admitted *bool) (start, error) {
	if j == nil {
		return start{}, nil
	}

	if j.Compile != nil {
		if _, err := r.Pool.Factory.Filters.Get(j.Compile.Cell.Policy); err != nil {
			return start{}, err
		}

		made, failed, err := r.Compile(ctx, j.Compile, streams.Retention, linux.Monotonic(), streams.Turn(*admitted))
		if err != nil {
			return start{}, ofProgram(part, err)
		}
		if failed != nil && failed.Verdict == api.Canceled {
			return start{}, api.Fail(api.CodeStopping, "canceled while the %s was compiled", part)
		}

		if failed != nil {
			why := firstWords(slices.Concat(failed.Stderr, failed.Stdout))
			if len(failed.LimitsHit) > 0 {
				why = fmt.Sprintf("the compiler met its limit of %s: raise compile_limits (%s)",
					strings.Join(failed.LimitsHit, " and "), why)
			}
			return start{}, api.Refuse(api.CodeCheckFailed, "the %s does not compile: %s", part, why)
		}

		*admitted = *admitted || !made.Info.Cached
		j.Run.Files, j.Run.Built = withoutNames(j.Run.Files, made.Files), made.Files
	}

	if _, err := r.Pool.Factory.Filters.Get(j.Run.Cell.Policy); err != nil {
		return start{}, err
	}

	from, err := r.start(ctx, j.Run)
	return from, ofProgram(part, err)
}

// ofProgram says in an error of the caller that it is about the checker or the interactor. What would be
// a verdict about a program under test is here a fault of the checker, and only its text remains: else
// the program under test would get the verdict.
func ofProgram(part string, err error) error {
	var source *plan.InvalidSource
	var artifact *plan.InvalidArtifact
	if errors.As(err, &source) || errors.As(err, &artifact) {
		return api.Refuse(api.CodeCheckFailed, "the %s: %v", part, err)
	}
	return api.About("the "+part, err)
}

// firstWords is the beginning of what a program wrote, in one line.
func firstWords(text []byte) string {
	const maximum = 300
	text = text[:min(len(text), maximum)]
	said := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "\ufffd")), " ")
	if said == "" {
		return "it wrote nothing"
	}
	return fmt.Sprintf("%q", said)
}

// checkFailed is the error for a checker that did not keep to its protocol.
func checkFailed(part string, t api.Test, res api.Result, why error) error {
	return api.Refuse(api.CodeCheckFailed, "test %q: the %s failed: %w (exit code %d, stderr: %s)%s", t.ID, part, why,
		res.ExitCode, firstWords(res.Stderr), lacking(part, t))
}

// lacking says which files of a test are empty because the request has nothing for them: what judges it may need them.
func lacking(part string, t api.Test) string {
	var without, fields []string
	if len(t.Stdin) == 0 && t.StdinBlob == "" {
		without, fields = append(without, "no input"), append(fields, "stdin")
	}
	if !t.Compares() {
		without, fields = append(without, "no expected output"), append(fields, "expected")
	}
	if len(without) == 0 {
		return ""
	}
	return fmt.Sprintf("; the test has %s: if the %s reads it, set %s", strings.Join(without, " and "), part,
		strings.Join(fields, " and "))
}

// left is what a checker left on one test. An error says that it left more than may be read.
func left(res api.Result) (judge.CheckerOutput, error) {
	l := judge.CheckerOutput{Verdict: res.Verdict, ExitCode: res.ExitCode, Signal: res.SignalName, Stdout: res.Stdout,
		Stderr: res.Stderr, Files: map[string][]byte{}}
	for _, f := range res.Files {
		l.Files[f.Name] = f.Content
	}
	for _, s := range res.Skipped {
		if s.Reason != outputs.NoSuchFile {
			return l, fmt.Errorf("its file %s cannot be read: %s", s.Name, s.Reason)
		}
	}
	return l, nil
}

// outcome is what the result of a test says of the run of its checker.
func outcome(res api.Result) *api.ProgramOutcome {
	const maximum = 4 * api.KiB
	return &api.ProgramOutcome{
		Verdict: res.Verdict, ExitCode: res.ExitCode, Signal: res.Signal, SignalName: res.SignalName,
		Stderr: slices.Clone(res.Stderr[:min(len(res.Stderr), int(maximum))]), Usage: res.Usage, Timing: res.Timing,
	}
}

// record takes what a checker said into the result of a test.
func record(out *api.TestResult, w judge.CheckResult, keep int64) {
	cut := func(text string) string {
		if int64(len(text)) > keep {
			return strings.ToValidUTF8(text[:keep], "")
		}
		return text
	}
	out.Answer, out.Score, out.Points = w.Answer, w.Score, w.Points
	out.Message, out.TeamMessage = cut(w.Message), cut(w.TeamMessage)
}

// A contents is what a test has to offer: stdin of the program, and the expected output.
type contents struct{ stdin, expected []byte }

// checked has the checker judge out, and runs the program again as long as the checker wants another pass.
// once runs the program with another input. written is the file that is judged instead of stdout; nil: none.
func (t *testRun) checked(ctx context.Context, test api.Test, of contents, written *outputs.File, out *api.TestResult,
	once func(stdin []byte) (api.Result, error)) error {
	var feedback []api.File
	slowest, input := out.Result, of.stdin
	for pass := 1; out.Result.Verdict == api.OK; pass++ {
		if t.job.Request.Passes > 1 {
			out.Passes = pass
		}

		output, missing := written.Judged(out.Result)
		if missing != "" { // there is nothing to check
			refuseMissing(out, missing)
			break
		}

		w, files, err := t.check(ctx, test, contents{input, of.expected}, output, feedback, out, pass)
		if err != nil {
			return err
		}

		record(out, w, t.keptOutput())
		if !w.More {
			break
		}

		feedback, input = files, w.Next
		t.trimStdout(&slowest)
		out.Result = api.Result{} // it has the whole stdout
		if written != nil {
			written.Content = nil
		}
		if out.Result, err = once(input); err != nil {
			return err
		}
		if out.Result.Verdict != api.OK {
			out.Answer, out.Score, out.Points, out.Passes = "", nil, nil, pass+1
			return nil
		}
		if cpuOf(out.Result) > cpuOf(slowest) {
			slowest = out.Result
		}
	}

	out.Result = slowest
	return nil
}

func cpuOf(r api.Result) int64 {
	if r.Usage.CPU.Value == nil {
		return 0
	}
	return *r.Usage.CPU.Value
}

// refuseMissing makes the answer of a program that left no output.
func refuseMissing(out *api.TestResult, missing string) {
	out.Answer, out.Difference = api.WrongAnswer, missing
	out.Score, out.Points, out.Message, out.TeamMessage, out.Checker = nil, nil, "", "", nil
}

// A judgement is what one run of a checker gave.
type judgement struct {
	res    api.Result // zero if it could not run
	said   judge.CheckResult
	failed error // how it violated its protocol; nil: it said something
}

// check judges the output of one pass, from 1. files are those of the feedback directory, except the input of
// the next pass.
//
// A checker may fail because of what it reads: a program must not be able to turn its wrong answer into an
// error. So a checker that fails judges the expected output next. If it accepts that, the output of the
// program is at fault, and the answer is wrong (GRD-30). Otherwise nothing is known of the program.
func (t *testRun) check(ctx context.Context, test api.Test, of contents, output []byte, feedback []api.File,
	out *api.TestResult, pass int) (judge.CheckResult, []api.File, error) {
	j, err := t.runChecker(ctx, test, of, output, feedback, pass)
	if err != nil {
		return judge.CheckResult{}, nil, err
	}
	if j.res.Verdict != "" {
		out.Checker = outcome(j.res)
	}
	if j.failed == nil {
		return j.said, withoutNextPass(j.res.Files), nil
	}

	failed := checkFailed("checker", test, j.res, j.failed)
	if !test.Compares() || !judge.OutputMayBeAtFault(j.failed) {
		return judge.CheckResult{}, nil, failed
	}

	control, err := t.runChecker(ctx, test, of, of.expected, feedback, pass)
	if err != nil {
		return judge.CheckResult{}, nil, err
	}
	if control.failed != nil || control.said.Answer != api.Accepted || !judge.OutputIsAtFault(j.res, control.res) {
		return judge.CheckResult{}, nil, failed
	}

	out.CheckerFailed = true
	out.Difference = fmt.Sprintf("the checker failed on this output, and accepts the expected one: %v", j.failed)
	return judge.CheckResult{Answer: api.WrongAnswer}, nil, nil
}

// runChecker runs the checker on one output. An error says that brig failed.
func (t *testRun) runChecker(ctx context.Context, test api.Test, of contents, output []byte, feedback []api.File,
	pass int) (j judgement, err error) {
	p := t.job.Check(test, of.stdin, output, of.expected, feedback)
	if err := p.CheckMemory(); err != nil {
		return judgement{failed: err}, nil
	}
	if j.res, err = t.runner.execute(ctx, p, t.checker, Streams{}, linux.Monotonic(), nextStage); err != nil {
		return j, ofProgram("checker", err)
	}
	if j.res.Verdict == api.Canceled {
		return j, api.Fail(api.CodeStopping, "canceled while the checker ran")
	}

	l, err := left(j.res)
	if err != nil {
		j.failed = err
		return j, nil
	}
	if j.said, j.failed = judge.ProtocolOf(t.job.Request.Check.Protocol).Read(l,
		t.job.Request.Check.Points); j.failed != nil {
		return j, nil
	}

	passes := max(t.job.Request.Passes, 1)
	switch {
	case pass == 1 && t.job.Request.RunsTwice():
		if j.said = j.said.Twice(j.res.Stdout); j.said.More && j.res.Usage.StdoutBytes > int64(len(j.res.Stdout)) {
			j.failed = fmt.Errorf("its stdout is the input of the second run, and has more than %s", api.Size(len(j.res.Stdout)))
		}
	case j.said.More && pass == passes:
		j.failed = fmt.Errorf("it asked for another pass after pass %d, and passes is %d", pass, passes)
	}

	return j, nil
}
