package runtime

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A series carries the tests of one job out, side by side on the slots that are
// free. Each is a run of its own.
type series struct {
	host  *Host
	job   *job
	tell  func(api.TestResult) // may be nil
	usage func(api.LiveUsage)  // may be nil
	begun time.Duration        // on the monotonic clock

	kept    *keeping
	telling sync.Mutex // held while usage is called, which may take as long as it likes

	mu      sync.Mutex
	now     map[int]api.LiveUsage // guarded by mu; of tests under way
	next    int                   // guarded by mu
	results []*api.TestResult     // guarded by mu; nil: not ended
	failed  bool                  // guarded by mu: begin no more
	err     error                 // guarded by mu: of ours, the first
}

// runTests runs the tests of a job and sums up. The first one is refused when no
// slot is free, as any run would be, unless the job had a slot already.
func (h *Host) runTests(ctx context.Context, j *job, streams Streams, admitted bool) (api.Result, error) {
	started := time.Now()
	t := &series{host: h, job: j, tell: streams.Test, usage: streams.Usage, kept: streams.kept, begun: monotonic(), now: map[int]api.LiveUsage{}, results: make([]*api.TestResult, len(j.ask.Tests))}
	within, stop := context.WithCancel(ctx)
	defer stop()

	// The others begin when the first has its slot, or there is nothing to begin.
	first := make(chan struct{})
	var workers sync.WaitGroup
	workers.Go(func() { t.work(within, stop, admitted, sync.OnceFunc(func() { close(first) })) })
	<-first
	for range min(h.cfg.Slots, len(j.ask.Tests)) - 1 {
		workers.Go(func() { t.work(within, stop, true, func() {}) })
	}
	workers.Wait()
	if t.err != nil {
		return api.Result{}, t.err
	}
	res := t.sum(started)
	if ctx.Err() != nil && res.Summary.Ran < res.Summary.Tests {
		res.Verdict, res.Summary.Verdict = api.Canceled, api.Canceled
	}
	return res, nil
}

// work takes tests until there are none left.
func (t *series) work(ctx context.Context, stop func(), admitted bool, leased func()) {
	defer leased()
	for {
		i := t.take(ctx)
		if i < 0 {
			return
		}
		res, err := t.one(ctx, i, admitted, leased)
		admitted = true
		if err != nil && ctx.Err() != nil {
			return // canceled before it began, or by another's error
		}
		if err != nil {
			t.mu.Lock()
			if t.err == nil {
				t.err = err
			}
			t.mu.Unlock()
			stop() // the others' runs are worth nothing without it
			return
		}
		t.done(i, res)
	}
}

// take gives the index of the next test to run, or -1.
func (t *series) take(ctx context.Context) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == len(t.results) || t.failed || t.err != nil || ctx.Err() != nil {
		return -1
	}
	t.next++
	return t.next - 1
}

func (t *series) one(ctx context.Context, i int, admitted bool, leased func()) (out api.TestResult, err error) {
	begun, test := monotonic(), t.job.ask.Tests[i]
	p, err := t.host.planTest(t.job, test)
	if err != nil {
		return api.TestResult{}, err
	}
	keeps := t.host.testKeeps(t.job, test)
	l, ended, err := t.lease(ctx, i, p, admitted, keeps)
	if err != nil {
		return api.TestResult{}, t.tooLarge(err, i, keeps)
	}
	leased()
	defer ended() // when no more counts than its result
	// Not before there is room: all tests' together may be large, and many wait for a slot
	// (AGT-21).
	var expected []byte
	if p.stdin, expected, err = t.host.testContent(test); err != nil {
		_ = t.kept.add(-keeps) // fewer
		l.giveBack(false)
		return api.TestResult{}, err
	}
	var streams Streams
	if t.usage != nil {
		streams.Usage = func(u api.LiveUsage) { t.using(i, u) }
	}
	res, err := t.host.executeIn(ctx, l, p, streams, begun)
	defer func() { _ = t.kept.add(min(int64(out.Result.Content()), keeps) - keeps) }() // fewer
	if err != nil {
		return api.TestResult{}, err
	}
	out = api.TestResult{ID: test.ID, Result: res}
	if test.Compares() && res.Verdict == api.OK {
		out.Answer = api.Accepted
		if ok, difference := t.job.ask.Compare.Accepts(expected, res.Stdout); !ok {
			out.Answer, out.Difference = api.WrongAnswer, difference
		}
	}
	keep, limit := int64(keepOfTest(t.job.ask)), int64(p.limits.Output)
	if s := &out.Result.Stdout; int64(len(*s)) > keep { // it was kept whole to be compared
		*s = append(api.Bytes(nil), (*s)[:keep]...)
	}
	out.Cut = min(res.Usage.StdoutBytes, limit) > keep || min(res.Usage.StderrBytes, limit) > keep
	out.Result.Host, out.Result.Labels = api.Host{}, api.Labels{}
	return out, nil
}

// tooLarge says of a test that the agent has no room for, though no other runs, what it
// would need and what may be lowered.
func (t *series) tooLarge(err error, i int, keeps int64) error {
	if !isFull(err, api.CodeTooLarge) {
		return err
	}
	most, keep := int64(t.host.HeldShare()+t.host.HeldCommon()), int64(keepOfTest(t.job.ask))
	if keeps > most {
		return api.Refuse(api.CodeTooLarge, "test %q may have the agent keep %s, and it keeps %s for one request: lower its limits.output, collect.bytes, keep_output, or its blobs", t.job.ask.Tests[i].ID, api.Size(keeps), api.Size(most))
	}
	result := 2*keep + collects(t.job.run.collect)
	return api.Refuse(api.CodeTooLarge, "test %q may have the agent keep %s while it runs, and the results before it, %d of %d, keep %s of the %s that there are: beside such a test %d results of up to %s each fit (two streams of keep_output, and collect.bytes): lower these or limits.output, or send the tests in several runs",
		t.job.ask.Tests[i].ID, api.Size(keeps), i, len(t.results), api.Size(t.kept.has()), api.Size(most), max((most-keeps)/max(result, 1), 0), api.Size(result))
}

// lease gives a test its slot, and the room to keep so much, until ended is called: both or
// neither, as a slot would stand idle until there is room, and room until there is a slot.
// The first is refused like a run; the others have theirs by turns with whoever else wants
// them.
func (t *series) lease(ctx context.Context, i int, p *plan, admitted bool, keeps int64) (l *lease, ended func(), err error) {
	pool, refused := t.host.pool, time.Duration(0)
	both := func(slot func() (*lease, error)) func() (*lease, error) {
		return func() (*lease, error) {
			if admitted && !pool.free() {
				_ = t.kept.add(0) // its place in the queue for room stays
				return nil, api.Fail(api.CodeBusy, "every slot is busy")
			}
			var err error
			if ended, err = t.kept.begin(keeps); err != nil {
				if refused == 0 {
					refused = monotonic()
				}
				if isFull(err, api.CodeBusy) {
					err = cmp.Or(tooLong(err, refused), err)
				}
				return nil, err
			}
			l, err := slot()
			if err != nil {
				_ = t.kept.add(-keeps) // fewer
				ended()
			}
			return l, err
		}
	}
	slot := func() (*lease, error) { return pool.lease(ctx, p.cell, p.once, p.promise()) }
	switch {
	case !admitted:
		l, err = both(func() (*lease, error) { return pool.arrive(ctx, p.cell, p.once, p.promise(), p.again) })()
	case i == 0:
		l, err = pool.patiently(ctx, heldTick, both(slot))
	default:
		l, err = pool.awaitNext(ctx, both(slot))
	}
	return l, ended, err
}

// using tells what all tests have used, those that have ended and those under way, when
// one of them was looked at.
func (t *series) using(i int, u api.LiveUsage) {
	t.mu.Lock()
	t.now[i] = u
	var all []api.TestResult
	for _, one := range t.results {
		if one != nil {
			all = append(all, *one)
		}
	}
	for _, u := range t.now {
		used := api.Usage{CPU: u.CPU, Memory: u.Memory, StdoutBytes: u.StdoutBytes, StderrBytes: u.StderrBytes}
		all = append(all, api.TestResult{Result: api.Result{Usage: used}})
	}
	t.mu.Unlock()
	sum := api.Together(all)
	t.telling.Lock()
	defer t.telling.Unlock()
	t.usage(api.LiveUsage{Wall: int64(monotonic() - t.begun), CPU: sum.CPU, Memory: sum.Memory, StdoutBytes: sum.StdoutBytes, StderrBytes: sum.StderrBytes})
}

// done keeps a result and tells it.
func (t *series) done(i int, res api.TestResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.results[i] = &res
	delete(t.now, i)
	if t.job.ask.StopAtFailure && !res.Accepted() {
		t.failed = true
	}
	if t.tell != nil && t.err == nil {
		t.tell(res)
	}
}

// sum makes the result of the whole.
func (t *series) sum(started time.Time) api.Result {
	j := t.job
	r := api.Result{
		Run: j.id, Stage: api.StageRun, LimitsHit: []string{}, Limits: j.run.limits, Labels: j.ask.Labels, Host: t.host.about(j.run),
		Timing: api.Timing{Wall: int64(monotonic() - t.begun), Started: started.UTC().Format(time.RFC3339Nano)},
	}
	for _, one := range t.results {
		if one != nil {
			r.Tests = append(r.Tests, *one)
		}
	}
	s := api.Summarize(len(t.results), r.Tests)
	r.Verdict, r.Summary = s.Verdict, &s
	d := r.Decisive()
	r.ExitCode, r.Signal, r.SignalName, r.Denial = d.ExitCode, d.Signal, d.SignalName, d.Denial
	r.Usage = api.Together(r.Tests)
	return r
}
