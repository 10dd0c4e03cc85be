package run

import (
	"context"
	"fmt"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/runtime/linux"
)

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

	failed := checkFailed("checker", test.ID, j.res, j.failed)
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
