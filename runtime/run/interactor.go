package run

import (
	"context"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/judge"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// interactorGrace is what an interactor has left to say something after the program met a limit.
const interactorGrace = time.Second

// A pair is two leases on the same processors.
type pair struct{ program, interactor *pool.Lease }

// leasePair leases both or neither.
func (r *Runner) leasePair(ctx context.Context, program, interactor *plan.Run) (pair, error) {
	a, err := r.Pool.Factory.Plan(program.Cell)
	if err != nil {
		return pair{}, err
	}
	b, err := r.Pool.Factory.Plan(interactor.Cell)
	if err != nil {
		return pair{}, err
	}
	l, companion, err := r.Pool.LeasePair(ctx,
		pool.Want{Cell: a, Once: program.Once, Memory: program.Reservation()}, pool.Want{Cell: b, Once: interactor.Once, Memory: interactor.Reservation()})
	return pair{l, companion}, err
}

// An interaction is how a program and an interactor ended.
type interaction struct {
	program, interactor api.Result
	ended               judge.Ended
}

// interact runs a program and an interactor at the same time, each in its own cell, with pipes between them.
func (r *Runner) interact(ctx context.Context, at pair, pp, ip *plan.Run, from, talks start, accepts func(int) bool, streams Streams, begun time.Duration) (x interaction, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := newLink(at.program)
	if err != nil {
		at.interactor.GiveBack(false)
		at.program.GiveBack(true) // its pipes may be changed
		return x, err
	}
	defer l.close()
	var interactorBad string
	var interactorErr error
	other := &linkEnd{link: l, which: interactorEndIndex, grace: interactorGrace}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer other.interactorOver()
		x.interactor, interactorBad, interactorErr = r.executeFrom(ctx, at.interactor, ip, talks, Streams{link: other}, begun)
	})
	streams.link = &linkEnd{link: l, which: programEndIndex, accepts: accepts}
	var programBad string
	x.program, programBad, err = r.executeFrom(ctx, at.program, pp, from, streams, begun)
	if err != nil || programBad != "" {
		cancel() // the interactor has nobody to talk with
	}
	wg.Wait()
	switch {
	case err != nil:
		return x, err
	case interactorErr != nil:
		return x, ofProgram("interactor", interactorErr)
	case programBad != "" || interactorBad != "":
		return x, api.Fail(api.CodeInternal, "a program did not begin from its template: %s%s: send the run again", programBad, interactorBad)
	}
	p, i := l.ended[programEndIndex], l.ended[interactorEndIndex] // both supervisors have ended
	x.ended = judge.Ended{Program: x.program.Verdict, ProgramAt: p.at, InteractorAt: i.at, Cut: p.stopped && x.interactor.Verdict == api.WallLimit}
	if p.at == 0 { // killed before its shell could report
		x.ended.ProgramAt = linux.Monotonic()
	}
	return x, nil
}

// interacted runs the program of a test with its interactor, for as many passes as that asks for, and judges.
func (t *testRun) interacted(ctx context.Context, test api.Test, at pair, p *plan.Run, from start, expected []byte, streams Streams, begun time.Duration) (out api.TestResult, err error) {
	out.ID = test.ID
	in := judge.InteractionOf(t.job.Request.Interactor.Protocol)
	one, passes := *p, max(t.job.Request.Passes, 1)
	var feedback []api.File
	var slowest *api.Result
	for pass := 1; ; pass++ {
		ip := t.job.Interact(test, &one, expected, feedback)
		one.Stdin = nil
		if err := ip.CheckMemory(); err != nil {
			if pass == 1 {
				at.interactor.GiveBack(false)
				at.program.GiveBack(false)
			}
			return out, ofProgram("interactor", err)
		}
		if pass > 1 {
			_, err := t.runner.Pool.RetryLease(ctx, time.Second, func() (*pool.Lease, error) {
				var err error
				at, err = t.runner.leasePair(ctx, &one, ip)
				return at.program, err
			})
			if err != nil {
				return out, err
			}
			begun = linux.Monotonic()
		}
		x, err := t.runner.interact(ctx, at, &one, ip, from, t.interactor, in.Accepts, streams, begun)
		if err != nil {
			return out, err
		}
		out.Interactor, out.First, out.Result = outcome(x.interactor), x.ended.First(), x.program
		l, err := left(x.interactor)
		var said judge.Word
		if err == nil {
			said, err = in.Read(l, t.job.Request.Interactor.Points)
		}
		if err != nil {
			err = checkFailed("interactor", test.ID, x.interactor, err)
		}
		out.Result.Verdict, said, err = x.ended.Judge(said, err)
		if err != nil {
			return out, err
		}
		if t.job.Request.Passes > 1 {
			out.Passes = pass
		}
		record(&out, said, t.keptOutput())
		if slowest == nil || out.Result.Verdict != api.OK || cpuOf(out.Result) > cpuOf(*slowest) {
			res := out.Result
			t.trimStdout(&res)
			slowest = &res
		}
		out.Result = *slowest
		switch {
		case out.Result.Verdict != api.OK:
			return out, nil
		case said.More && pass == passes:
			return out, api.Refuse(api.CodeCheckFailed, "test %q: the interactor failed: it asked for another pass after pass %d, and passes is %d", test.ID, pass, passes)
		case said.More:
			feedback, one.Stdin = withoutNextPass(x.interactor.Files), said.Next
			continue
		case said.Answer == api.Accepted && test.Returns != nil:
			return out, compareValue(&out, t.job.Request.CompareOf(test), test, l.Files[judge.CallValue])
		case t.job.Checker != nil && said.Answer == api.Accepted:
			written := out
			written.Result.Stdout = l.Files[in.Output]
			w, _, err := t.check(ctx, test, contents{p.Stdin, expected}, nil, &written)
			if err != nil {
				return out, err
			}
			out.Checker = written.Checker
			record(&out, w, t.keptOutput())
		}
		return out, nil
	}
}

// compareValue compares what a function returned with what the test expects.
func compareValue(out *api.TestResult, c api.Compare, test api.Test, value []byte) error {
	c.How = api.CompareJSON
	ok, difference, err := judge.Accepts(c, test.Returns, value)
	if err != nil {
		return api.Refuse(api.CodeBadRequest, "test %q: returns: %w", test.ID, err)
	}
	if !ok {
		out.Answer, out.Difference = api.WrongAnswer, difference
	}
	return nil
}

// withoutNextPass are the files of a feedback directory, except the input of the next pass.
func withoutNextPass(files []api.File) (rest []api.File) {
	for _, f := range files {
		if f.Name != judge.FeedbackDir+"/"+judge.NextPass {
			rest = append(rest, f)
		}
	}
	return rest
}
