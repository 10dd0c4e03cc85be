package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// A testRun runs the tests of one job, concurrently on the slots that are free. Each test is a run
// of its own.
type testRun struct {
	runner *Runner
	job    *plan.Job
	from   start                // of every test
	report func(api.TestResult) // may be nil
	usage  func(api.LiveUsage)  // may be nil
	begun  time.Duration        // on the monotonic clock

	checker, interactor start // of what judges, if there is one

	retention *retention
	wait      time.Duration // of the first test, for its slot
	usageMu   sync.Mutex    // held while usage is called, which may take any time

	grader *judge.Grader

	mu       sync.Mutex
	running  map[int]api.LiveUsage // guarded by mu; of running tests
	next     int                   // guarded by mu
	results  []*api.TestResult     // guarded by mu; nil: not ended
	standing []judge.Standing      // guarded by mu; of each test
	reported []bool                // guarded by mu; of each test, whether report was called
	cancels  map[int]func()        // guarded by mu; of running tests
	errs     map[int]error         // guarded by mu; of tests that ended with an error
	failed   int                   // guarded by mu; the first test that counts and ended with an error; len(results): none
}

// runTests runs the tests of a job and summarizes them. The first test is refused when no slot is
// free, as any run would be, unless the job had a slot already.
func (r *Runner) runTests(ctx context.Context, j *plan.Job, from, checker, interactor start, streams Streams,
	admitted bool) (api.Result, error) {
	started := time.Now()
	t := &testRun{runner: r, job: j, from: from, checker: checker, interactor: interactor, report: streams.Test,
		usage: streams.Usage, retention: streams.Retention, wait: streams.Wait, begun: linux.Monotonic()}
	t.prepare()

	// The other workers start when the first test has its slot, or there is nothing to start.
	first := make(chan struct{})
	var workers sync.WaitGroup
	workers.Go(func() { t.worker(ctx, admitted, sync.OnceFunc(func() { close(first) })) })
	<-first
	for range min(r.Memory.Slots, len(j.Request.Tests)) - 1 {
		workers.Go(func() { t.worker(ctx, true, func() {}) })
	}

	workers.Wait()
	if err := t.errs[t.failed]; err != nil {
		return api.Result{}, err
	}

	res := t.sum(started)
	if ctx.Err() != nil && res.Summary.Ran+res.Summary.Skipped < res.Summary.Tests {
		res.Verdict, res.Summary.Verdict = api.Canceled, api.Canceled
	}
	return res, nil
}

// prepare makes the state of the tests before the first one.
func (t *testRun) prepare() {
	n := len(t.job.Request.Tests)
	t.running, t.cancels, t.errs = map[int]api.LiveUsage{}, map[int]func(){}, map[int]error{}
	t.results, t.reported, t.failed = make([]*api.TestResult, n), make([]bool, n), n
	t.grader = judge.NewGrader(t.job.Request)
	t.standing = t.grader.Decide(t.results)
}

// worker runs tests until there are none left.
func (t *testRun) worker(ctx context.Context, admitted bool, leased func()) {
	defer leased()

	for {
		i, within, cancel := t.nextIndex(ctx)
		if i < 0 {
			return
		}

		res, err := t.runTest(within, i, admitted, leased)
		if err == nil {
			err = t.grader.CheckPoints(i, &res)
		}

		canceled := within.Err() != nil
		cancel()
		admitted = true
		if err != nil && canceled {
			return // canceled before it began, or by the error of a test before it
		}

		t.finish(i, res, err)
	}
}

// nextIndex returns the index of the next test to run, or -1, and the context of that test. A test whose
// standing depends on one that has not ended may be run in vain: its result is then dropped.
func (t *testRun) nextIndex(ctx context.Context) (i int, within context.Context, cancel func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.next < len(t.results) && t.standing[t.next] == judge.Skipped {
		t.next++
	}
	if t.next == len(t.results) || t.failed < len(t.results) || ctx.Err() != nil {
		return -1, nil, nil
	}
	i, t.next = t.next, t.next+1
	within, cancel = context.WithCancel(ctx)
	t.cancels[i] = cancel
	return i, within, cancel
}

func (t *testRun) runTest(ctx context.Context, i int, admitted bool, leased func()) (out api.TestResult, err error) {
	begun, test := linux.Monotonic(), t.job.Request.Tests[i]
	p, err := t.runner.Planner.Test(t.job, test)
	if err != nil {
		return api.TestResult{}, err
	}

	stage := t.retention.Stage(t.runner.maxTestRetained(t.job, test))
	at, err := t.lease(ctx, i, p, admitted, stage)
	if err != nil {
		return api.TestResult{}, t.tooLargeError(err, i, stage.maximum)
	}

	leased()
	defer func() { stage.End(int64(out.Content())) }()

	// Only now that memory is reserved: the contents of all tests together may be large, and many
	// tests wait for a slot (AGT-21).
	var expected []byte
	if expected, err = t.runner.Planner.TestContent(p, test); err != nil {
		at.giveBack(false)
		return api.TestResult{}, err
	}

	var streams Streams
	if t.usage != nil {
		streams.Usage = func(u api.LiveUsage) { t.reportUsage(i, u) }
	}

	from := t.from
	if p.Template == nil { // the limits of this test are not those of the template
		from = start{cold: p.Cold}
	}
	if at.interactor != nil {
		out, err = t.interacted(ctx, test, at, p, from, expected, streams, begun)
		t.trim(&out, p)
		return out, err
	}
	if p.OutputFile != "" {
		streams.written = &outputs.File{Name: p.OutputFile, Limit: p.Limits.Output}
	}

	res, err := t.runner.executeIn(ctx, at.programs[0], p, from, streams, begun)
	if err != nil {
		return api.TestResult{}, err
	}

	out = api.TestResult{ID: test.ID, Result: res}
	output, missing := streams.written.Judged(res)
	switch {
	case res.Verdict != api.OK:
	case t.job.Checker != nil:
		err = t.checked(ctx, test, contents{p.Stdin, expected}, streams.written, &out,
			func(stdin []byte) (api.Result, error) {
				again := *p
				again.Stdin = stdin
				return t.runner.execute(ctx, &again, from, streams, linux.Monotonic(), nextStage)
			})
		if err != nil {
			return api.TestResult{}, err
		}

	case missing != "":
		refuseMissing(&out, missing)
	case test.Compares():
		out.Answer = api.Accepted
		ok, difference, err := judge.Accepts(t.job.Request.CompareOf(test), expected, output)
		if err != nil {
			return api.TestResult{}, api.Refuse(api.CodeBadRequest, "test %q: %w", test.ID, err)
		}
		if !ok {
			out.Answer, out.Difference = api.WrongAnswer, difference
		}
	}

	t.trim(&out, p)
	t.keepWritten(&out, streams.written)
	return out, nil
}

// trim reduces a result to what the result of a test carries.
func (t *testRun) trim(out *api.TestResult, p *plan.Run) {
	keep, limit := t.keptOutput(), int64(p.Limits.Output)
	t.trimStdout(&out.Result)
	usage := out.Result.Usage
	out.Cut = min(usage.StdoutBytes, limit) > keep || min(usage.StderrBytes, limit) > keep
	out.Result.Host, out.Result.Labels = api.Host{}, api.Labels{}
}

// keepWritten adds the beginning of the output file to a result.
func (t *testRun) keepWritten(out *api.TestResult, o *outputs.File) {
	if o == nil {
		return
	}
	n := min(int64(len(o.Content)), t.keptOutput())
	out.Output, out.Cut = slices.Clone(o.Content[:n]), out.Cut || n < int64(len(o.Content))
}

// keptOutput is how many bytes of each stream the result of a test carries.
func (t *testRun) keptOutput() int64 { return int64(plan.KeptTestOutput(t.job.Request)) }

// trimStdout reduces the stdout of a result, which was kept whole for the comparison. Between two passes
// it makes room: the output of one pass is reserved, not that of two.
func (t *testRun) trimStdout(res *api.Result) {
	if keep := t.keptOutput(); int64(len(res.Stdout)) > keep {
		res.Stdout = slices.Clone(res.Stdout[:keep])
	}
}

// tooLargeError explains, for a test that does not fit in the agent's memory even while no other test
// runs, what it would need and what may be lowered.
func (t *testRun) tooLargeError(err error, i int, maxRetained int64) error {
	if !api.HasCode(err, api.CodeTooLarge) {
		return err
	}

	maximum, keep := int64(t.runner.Memory.HeldShare()+t.runner.Memory.HeldCommon()), t.keptOutput()
	if maxRetained > maximum {
		return api.Refuse(api.CodeTooLarge,
			"test %q may need %s of the agent's memory, and one request gets at most %s: lower its limits.output, "+
				"collect.bytes, keep_output, or its blobs", t.job.Request.Tests[i].ID, api.Size(maxRetained), api.Size(maximum))
	}

	result := int64(plan.KeptOfTest(t.job.Request))*keep + maxCollected(t.job.Run.Collect)
	return api.Refuse(api.CodeTooLarge,
		"test %q may need %s of the agent's memory while it runs, and the results before it, %d of %d, take %s of "+
			"the %s in total: together with such a test %d results of up to %s each fit (keep_output of each stream "+
			"and of output_file, and collect.bytes): lower these or limits.output, or send the tests in several runs",
		t.job.Request.Tests[i].ID, api.Size(maxRetained), i, len(t.results), api.Size(t.retention.size()), api.Size(maximum),
		max((maximum-maxRetained)/max(result, 1), 0), api.Size(result))
}

// lease waits for a slot for a test, and for the memory that the test may retain. The first test is a new
// request, unless the job had a slot. The others alternate with other callers.
func (t *testRun) lease(ctx context.Context, i int, p *plan.Run, admitted bool, stage *stage) (at party, err error) {
	turn := pool.Turn{Kind: pool.Test}
	if i == 0 || !admitted {
		turn = Streams{Streams: api.Streams{Wait: t.wait}}.Turn(admitted)
	}
	turn.Memory = stage
	if t.job.Interactor != nil { // the interactor has a cell in the same slot: all or none
		return t.runner.leaseTogether(ctx, turn, p, t.job.Interactor.Run, t.job.Request.Interactor.ProcessCount())
	}
	l, err := t.runner.lease(ctx, p, turn)
	return party{programs: []*pool.Lease{l}}, err
}

// reportUsage reports the total usage of all tests, ended and running, after one of them was measured.
func (t *testRun) reportUsage(i int, u api.LiveUsage) {
	t.mu.Lock()
	t.running[i] = u
	var all []api.TestResult
	for _, one := range t.results {
		if one != nil {
			all = append(all, *one)
		}
	}

	for _, u := range t.running {
		used := api.Usage{CPU: u.CPU, Memory: u.Memory, StdoutBytes: u.StdoutBytes, StderrBytes: u.StderrBytes}
		all = append(all, api.TestResult{Result: api.Result{Usage: used}})
	}

	t.mu.Unlock()
	sum := api.SumUsage(all)
	t.usageMu.Lock()
	defer t.usageMu.Unlock()

	t.usage(api.LiveUsage{Wall: int64(linux.Monotonic() - t.begun), CPU: sum.CPU, Memory: sum.Memory,
		StdoutBytes: sum.StdoutBytes, StderrBytes: sum.StderrBytes})
}

// finish stores how a test ended, and reports the results of which it is now known that they count. The
// error of a test is that of the job if the test counts and no test before it has one, so that it does not
// depend on the number of slots either. The tests after it are worthless then; those before it go on.
func (t *testRun) finish(i int, res api.TestResult, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	delete(t.running, i)
	delete(t.cancels, i)
	if err != nil {
		t.errs[i] = err
	} else {
		t.results[i] = &res
	}

	t.standing = t.grader.Decide(t.results)
	for i := range t.errs {
		if t.standing[i] == judge.Counted {
			t.failed = min(t.failed, i)
		}
	}

	for i, cancel := range t.cancels {
		if i > t.failed {
			cancel()
		}
	}

	for i, res := range t.results[:t.failed] {
		if res != nil && t.standing[i] == judge.Counted && !t.reported[i] {
			t.reported[i] = true
			if t.report != nil {
				t.report(*res)
			}
		}
	}
}

// sum makes the result of the whole job.
func (t *testRun) sum(started time.Time) api.Result {
	j := t.job
	res := api.Result{
		Run: j.ID, Stage: api.StageRun, LimitsHit: []string{}, Limits: j.Run.Limits, Labels: j.Request.Labels,
		Host:   t.runner.host(j.Run),
		Timing: api.Timing{Wall: int64(linux.Monotonic() - t.begun), Started: started.UTC().Format(time.RFC3339Nano)},
	}

	skipped := 0
	for i, one := range t.results {
		switch {
		case t.standing[i] == judge.Skipped:
			skipped++
			t.results[i] = nil
		case t.standing[i] == judge.Undecided: // the caller left before it was known
			t.results[i] = nil
		case one != nil:
			res.Tests = append(res.Tests, *one)
		}
	}

	s := api.Summarize(len(t.results), res.Tests)
	s.Skipped = skipped
	t.grader.Grade(&s, t.results)
	res.Verdict, res.Summary = s.Verdict, &s
	d := res.Decisive()
	res.ExitCode, res.Signal, res.SignalName, res.Denial = d.ExitCode, d.Signal, d.SignalName, d.Denial
	res.Usage = api.SumUsage(res.Tests)
	t.from.describe(&res)
	return res
}
