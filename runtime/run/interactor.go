package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// interactorGrace is what an interactor has left to say something after the program met a limit.
const interactorGrace = time.Second

// A party is the leases of programs that run at the same time, on the same processors: those of the program under
// test, of which the first has the slot, and that of its interactor.
type party struct {
	programs   []*pool.Lease
	interactor *pool.Lease // nil: there is one program, and no interactor
}

// giveBack ends the leases of a party that nothing has run with; the slot is free last.
func (at party) giveBack(doubt bool) {
	if at.interactor != nil {
		at.interactor.GiveBack(false)
	}
	for _, l := range slices.Backward(at.programs) {
		l.GiveBack(doubt)
	}
}

// leaseTogether leases all or none.
func (r *Runner) leaseTogether(ctx context.Context, turn pool.Turn, program, interactor *plan.Run,
	processes int) (party, error) {
	a, err := r.want(program)
	if err != nil {
		return party{}, err
	}
	b, err := r.want(interactor)
	if err != nil {
		return party{}, err
	}
	programs, companion, err := r.Pool.AcquireTogether(ctx, turn, a, b, processes)
	return party{programs, companion}, err
}

// An interaction is how a program, with all its processes, and an interactor ended.
type interaction struct {
	program, interactor api.Result
	ended               judge.Ended
}

// An ending is what executing one of several programs returned.
type ending struct {
	res      api.Result
	badStart string
	err      error
}

// interact runs a program, perhaps as several processes, and an interactor at the same time, each in its own cell,
// with pipes between them.
func (t *testRun) interact(ctx context.Context, at party, pp, ip *plan.Run, from start, streams Streams,
	begun time.Duration) (x interaction, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	i, n := t.job.Request.Interactor, len(at.programs)
	in := judge.InteractionOf(i.Protocol)
	l, err := newLink(at.programs, linking{manager: in.Manager, byName: i.ProgramIO == api.FIFOIO})
	if err != nil {
		at.giveBack(true) // the pipes may be changed
		return x, err
	}
	defer func() { err = errors.Join(err, l.close()) }()

	ends := make([]ending, n+1)
	execute := func(which int, at *pool.Lease, p *plan.Run, from start, s Streams) {
		s.link.cancel, s.link.accepts, s.link.grace = cancel, in.Accepts, interactorGrace
		if in.Unjudged { // it has its own limits, and nobody waits for its word
			s.link.grace = time.Duration(ip.Limits.Wall)
		}
		e := &ends[which]
		e.res, e.badStart, e.err = t.runner.executeFrom(ctx, at, p, from, s, begun)
		if which < n && e.err != nil {
			cancel() // if it had no lease any more: linkEnd.failed does it otherwise
		}
	}

	var wg sync.WaitGroup
	wg.Go(func() {
		end := l.end(n)
		defer end.leaseOver()
		execute(n, at.interactor, ip, t.interactor, Streams{link: end})
	})

	usage := sumOfUsage(streams.Usage, n)
	for k := n - 1; k >= 0; k-- {
		s := streams
		s.link, s.Usage = l.end(k), usage(k)
		if k == 0 {
			execute(k, at.programs[k], t.job.Process(pp, k), from, s)
			break
		}
		wg.Go(func() {
			defer s.link.leaseOver()
			execute(k, at.programs[k], t.job.Process(pp, k), from, s)
		})
	}

	wg.Wait()
	bad := ""
	var canceled error // because another one failed, or by the caller
	for _, e := range ends[:n] {
		switch {
		case api.HasCode(e.err, api.CodeStopping):
			canceled = e.err
		case e.err != nil:
			return x, e.err
		}
		bad += e.badStart
	}

	switch bad += ends[n].badStart; {
	case bad != "": // the others were canceled for that
		return x, api.Fail(api.CodeInternal, "a program did not begin from its template: %s: send the run again", bad)
	case canceled != nil:
		return x, canceled
	case ends[n].err != nil:
		return x, ofProgram("interactor", ends[n].err)
	}

	x.interactor = ends[n].res
	var decisive *programEnd
	x.program, decisive = processes(ends[:n], l.ended[:n], pp.Limits)
	x.ended = judge.Ended{Program: x.program.Verdict, ProgramAt: decisive.at, InteractorAt: l.ended[n].at}
	return x, nil
}

// interacted runs the program of a test with its interactor, for as many passes as that asks for, and judges.
func (t *testRun) interacted(ctx context.Context, test api.Test, at party, p *plan.Run, from start, expected []byte,
	streams Streams, begun time.Duration) (out api.TestResult, err error) {
	out.ID = test.ID
	in := judge.InteractionOf(t.job.Request.Interactor.Protocol)
	one, passes, input := *p, max(t.job.Request.Passes, 1), p.Stdin
	var feedback []api.File
	var slowest *api.Result
	for pass := 1; ; pass++ {
		ip := t.job.Interact(test, &one, expected, feedback)
		one.Stdin = nil
		if err := ip.CheckMemory(); err != nil {
			if pass == 1 {
				at.giveBack(false)
			}
			return out, ofProgram("interactor", err)
		}
		if pass > 1 {
			if at, err = t.runner.leaseTogether(ctx, nextStage, &one, ip, 1); err != nil {
				return out, err
			}
			begun = linux.Monotonic()
		}

		x, err := t.interact(ctx, at, &one, ip, from, streams, begun)
		if err != nil {
			return out, err
		}

		out.Interactor, out.First, out.Result = outcome(x.interactor), x.ended.First(), x.program
		if in.Unjudged {
			out.Interactor.Stderr, out.Interactor.Files = x.interactor.Stderr, x.interactor.Files
			out.Interactor.Skipped = x.interactor.Skipped
			return out, nil
		}
		l, err := left(x.interactor)
		var said judge.CheckResult
		if err == nil {
			said, err = in.Read(l, t.job.Request.Interactor.Points)
		}
		if err != nil {
			err = checkFailed("interactor", test, x.interactor, err)
		} else if pass == 1 && t.job.Request.RunsTwice() {
			said = said.Twice(l.Files[in.Output])
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
			return out, api.Refuse(api.CodeCheckFailed,
				"test %q: the interactor failed: it asked for another pass after pass %d, and passes is %d", test.ID, pass, passes)
		case said.More && pass == t.job.Request.Interactor.Passes:
			err := t.alone(ctx, test, p, from, contents{said.Next, expected}, streams, &out)
			return out, err
		case said.More:
			feedback, input, one.Stdin = withoutNextPass(x.interactor.Files), said.Next, said.Next
			continue
		case said.Answer == api.Accepted && test.Returns != nil:
			return out, compareValue(&out, t.job.Request.CompareOf(test), test, l.Files[judge.CallValue])
		case t.job.Checker != nil && said.Answer == api.Accepted:
			w, _, err := t.check(ctx, test, contents{input, expected}, l.Files[in.Output], nil, &out, pass)
			if err != nil {
				return out, err
			}
			record(&out, w, t.keptOutput())
		}

		return out, nil
	}
}

// alone runs the program a second time, without the interactor of the first run, and has the checker judge
// what it prints.
func (t *testRun) alone(ctx context.Context, test api.Test, p *plan.Run, from start, of contents, streams Streams,
	out *api.TestResult) error {
	again, first := *p, out.Result
	again.Stdin = of.stdin
	res, err := t.runner.execute(ctx, &again, from, streams, linux.Monotonic(), nextStage)
	if err != nil {
		return err
	}
	if out.Result, out.Passes = res, 2; res.Verdict != api.OK {
		out.Answer, out.Score, out.Points = "", nil, nil
		return nil
	}

	w, _, err := t.check(ctx, test, of, out.Result.Stdout, nil, out, 2)
	if err != nil {
		return err
	}

	record(out, w, t.keptOutput())
	if cpuOf(first) >= cpuOf(res) {
		out.Result = first
	}
	return nil
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

// withoutNextPass are the files of a feedback directory, except the input of the next pass. What an interactor
// with testlib wrote is none of them.
func withoutNextPass(files []api.File) (rest []api.File) {
	for _, f := range files {
		if strings.HasPrefix(f.Name, judge.FeedbackDir+"/") && f.Name != judge.FeedbackDir+"/"+judge.NextPass {
			rest = append(rest, f)
		}
	}
	return rest
}
