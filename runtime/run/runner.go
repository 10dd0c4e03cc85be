// Package run takes a planned run through its steps, watches it to its end, and makes its result. It
// knows no sessions: what an exec needs of its session is the interface Session.
package run

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/cache"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
	"github.com/brig-sandbox/brig/runtime/template"
)

// A Runner runs planned jobs in the cells of a pool.
type Runner struct {
	Log       *slog.Logger
	Planner   *plan.Planner
	Pool      *pool.Pool
	Artifacts *cache.Cache // of compile stages; nil: every run compiles
	Templates *template.Store
	Memory    MemoryBounds
	About     HostFacts
}

// HostFacts are what results say of the host.
type HostFacts struct{ Kernel, CgroupMode, Version string }

// Run executes a valid request and reports how it ended. The error is an *api.Error, and non-nil only when
// brig refused or failed; whatever the program did is a Result. The end of ctx means that the caller has
// left, and cancels the run.
func (r *Runner) Run(ctx context.Context, request api.Run, s api.Streams,
	caller api.Caller) (res api.Result, err error) {
	begun := linux.Monotonic()
	id := "" // until the run is planned
	defer func() {
		if err != nil {
			res, err = api.Result{}, ToAPIError(r.Log, err, id)
		}
	}()

	if request.StdinBlob != "" {
		s.Attach = nil // the agent writes the blob
	}

	streams := Streams{Streams: s, Retention: NewRetention(s)}
	defer func() { streams.Retention.Finish(&res) }()

	if err := streams.Retention.Await(ctx, r.Pool, streams.Turn(false),
		r.blobBytes(request)+manyTests(request)); err != nil {
		return res, err
	}

	j, err := r.plan(ctx, request, caller)
	if err != nil {
		return res, err
	}

	id = j.ID
	if j.Run.Network != nil && len(j.Run.Network.Ports) > 0 && s.Network == nil {
		return res, api.Refuse(api.CodeBadRequest,
			"network %s needs a caller that relays the connections: send the run in the streamed form, from this host",
			request.Network)
	}

	return r.runJob(ctx, j, streams, begun)
}

// plan plans a run, and compiles the filters of its stages.
func (r *Runner) plan(ctx context.Context, request api.Run, caller api.Caller) (*plan.Job, error) {
	j, err := r.Planner.Job(ctx, request, caller)
	if err != nil {
		return nil, err
	}
	if j.Compile != nil {
		if _, err := r.Pool.Factory.Filters.Get(j.Compile.Cell.Policy); err != nil {
			return nil, err
		}
	}
	_, err = r.Pool.Factory.Filters.Get(j.Run.Cell.Policy)
	return j, err
}

// runJob runs a job through its stages. A job that had a slot once waits for further ones, so
// that a compiled program is also run.
func (r *Runner) runJob(ctx context.Context, j *plan.Job, streams Streams, begun time.Duration) (api.Result, error) {
	res, err := r.runStages(ctx, j, streams, begun)
	var source *plan.InvalidSource
	if errors.As(err, &source) {
		return compileFailed(j, r.InvalidSourceResult(cmp.Or(j.Compile, j.Run), source)), nil
	}
	return res, err
}

func (r *Runner) runStages(ctx context.Context, j *plan.Job, streams Streams, begun time.Duration) (api.Result, error) {
	if err := j.CheckMemory(); err != nil {
		return api.Result{}, err
	}

	for _, one := range []struct {
		part string
		job  *plan.Job
	}{{"checker", j.Checker}, {"interactor", j.Interactor}} {
		if one.job == nil {
			continue
		}
		if err := one.job.CheckMemory(); err != nil {
			return api.Result{}, ofProgram(one.part, err)
		}
	}

	var compiled *api.Compilation
	admitted := false
	if j.Compile != nil {
		made, failed, err := r.Compile(ctx, j.Compile, streams.Retention, begun, streams.Turn(false))
		if err != nil {
			return api.Result{}, err
		}
		if failed != nil {
			return compileFailed(j, *failed), nil
		}

		j.Run.Files, j.Run.Built = withoutNames(j.Run.Files, made.Files), made.Files
		admitted = !made.Info.Cached
		if !j.Compile.Syntax {
			compiled = &made.Info
		}
		if compiled != nil && streams.Compiled != nil {
			streams.Compiled(made.Info)
		}

		begun = linux.Monotonic()
	}

	from, err := r.start(ctx, j.Run)
	if err != nil {
		return api.Result{}, err
	}
	defer from.release()

	checker, err := r.prepareJudge(ctx, "checker", j.Checker, streams, &admitted)
	if err != nil {
		return api.Result{}, err
	}
	defer checker.release()

	interactor, err := r.prepareJudge(ctx, "interactor", j.Interactor, streams, &admitted)
	if err != nil {
		return api.Result{}, err
	}
	defer interactor.release()

	var res api.Result
	if len(j.Request.Tests) > 0 {
		res, err = r.runTests(ctx, j, from, checker, interactor, streams, admitted)
	} else {
		turn, stage := streams.Turn(admitted), streams.Retention.Stage(MaxRetained(j.Run, streams.Stdout != nil))
		turn.Memory = stage
		res, err = r.execute(ctx, j.Run, from, streams, begun, turn)
		stage.End(int64(res.Content()))
	}

	var artifact *plan.InvalidArtifact
	if errors.As(err, &artifact) && compiled != nil {
		return compileFailed(j, r.InvalidArtifactResult(j.Compile, *compiled, artifact)), nil
	}

	res.Compile = compiled
	if set := j.Run.Packages; set != nil && err == nil {
		about := plan.DescribePackages(*set)
		res.Packages = &about
	}
	return res, err
}

// compileFailed is the result of a job that ended with its compile stage.
func compileFailed(j *plan.Job, res api.Result) api.Result {
	if len(j.Request.Tests) > 0 {
		s := api.Summarize(len(j.Request.Tests), nil)
		s.Verdict = res.Verdict
		res.Summary = &s
	}
	return res
}

// want is what a plan needs of the pool.
func (r *Runner) want(p *plan.Run) (pool.Want, error) {
	cell, err := r.Pool.Factory.Plan(p.Cell)
	return pool.Want{Cell: cell, Once: p.Once, Memory: p.Reservation()}, err
}

// lease waits for a slot for a plan.
func (r *Runner) lease(ctx context.Context, p *plan.Run, turn pool.Turn) (*pool.Lease, error) {
	want, err := r.want(p)
	if err != nil {
		return nil, err
	}
	return r.Pool.Acquire(ctx, turn, want)
}

// nextStage is the turn of a further stage whose memory of the agent is reserved.
var nextStage = pool.Turn{Kind: pool.Stage}

// Turn is how the first stage of a request waits, or one after a stage that had a slot (admitted).
func (s Streams) Turn(admitted bool) pool.Turn {
	if admitted {
		return nextStage
	}
	return pool.Turn{Kind: pool.First, Wait: s.Wait}
}

// execute leases a slot, runs the steps and judges.
func (r *Runner) execute(ctx context.Context, p *plan.Run, from start, streams Streams, begun time.Duration,
	turn pool.Turn) (api.Result, error) {
	l, err := r.lease(ctx, p, turn)
	if err != nil {
		return api.Result{}, err
	}
	return r.executeIn(ctx, l, p, from, streams, begun)
}

// executeIn runs the steps and judges. A program that cannot begin from its template has the ordinary
// start instead, in another cell.
func (r *Runner) executeIn(ctx context.Context, l *pool.Lease, p *plan.Run, from start, streams Streams,
	begun time.Duration) (api.Result, error) {
	res, badStart, err := r.executeFrom(ctx, l, p, from, streams, begun)
	switch {
	case err != nil || badStart == "":
		return res, err
	case streams.Attach != nil: // what the caller sent to stdin may be lost
		return res, api.Fail(api.CodeInternal, "the program did not start: %s: send the run again", badStart)
	}
	return r.execute(ctx, p, start{cold: badStart}, streams, begun, nextStage)
}

// executeFrom is executeOnce from a template, if there is one that has not failed for such a run.
func (r *Runner) executeFrom(ctx context.Context, l *pool.Lease, p *plan.Run, from start, streams Streams,
	begun time.Duration) (res api.Result, badStart string, err error) {
	if from.snapshot != nil {
		if why := from.snapshot.Refusal(p.Settings); why != "" {
			from = start{cold: why}
		}
	}

	var file *os.File
	if from.snapshot != nil {
		if file, err = from.snapshot.Open(); err != nil {
			l.GiveBack(false)
			return res, "", err
		}
		defer file.Close()
	}

	res, badStart, err = r.executeOnce(ctx, l, p, file, streams, begun, nil)
	switch {
	case err != nil:
	case badStart != "":
		r.doubt(p, from.snapshot, badStart)
	default:
		from.describe(&res)
	}

	return res, badStart, err
}

// executeOnce runs the steps and judges. badStart is why the program could not begin from its template;
// there is no result then. The slot is given back before the caller has taken the last of the output: a
// caller that does not read must not keep it.
//
// take, if not nil, gets /box if the program ended well, after its last process has ended and before its
// scratch is gone. The program made what is there: nothing of it can be trusted.
func (r *Runner) executeOnce(ctx context.Context, l *pool.Lease, p *plan.Run, from *os.File, streams Streams,
	begun time.Duration, take func(box *os.File) error) (_ api.Result, badStart string, _ error) {
	out := outputs.NewStreams(streams.Stdout, streams.Stderr, p, l.Slot().Wake)
	defer out.Finish()

	reporter := startUsageReporter(streams.Usage, l.Slot().Wake)
	defer reporter.join()

	o, err := executeLeased(ctx, l, p, from, streams, out, reporter, begun, func(o *Outcome) error {
		if o.badStart != "" {
			streams.link.failed()
		}
		if err := streams.link.afterSteps(l); err != nil {
			return err
		}
		if streams.written != nil && o.badStart == "" {
			// Also while killed processes are still there: reads are bounded, and follow no link.
			if err := streams.written.Read(l.Prepared.Shell.Scratch.Box); err != nil {
				return err
			}
		}
		if take == nil || o.StillRunning || o.badStart != "" || judge.Verdict(o.ev, p.Limits) != api.OK {
			return nil
		}
		return take(l.Prepared.Shell.Scratch.Box)
	})
	if err != nil || o.badStart != "" {
		if err == nil {
			badStart = o.badStart
		}
		return api.Result{}, badStart, r.StartFailed(ctx, p, err)
	}

	out.Finish()
	res, err := r.Result(ctx, p, o, out)
	return res, "", err
}

// Install executes an installer. If it ends well, take gets its /box: see executeOnce.
func (r *Runner) Install(ctx context.Context, p *plan.Run, streams api.Streams,
	take func(box *os.File) error) (api.Result, error) {
	if _, err := r.Pool.Factory.Filters.Get(p.Cell.Policy); err != nil {
		return api.Result{}, err
	}
	if streams.Network == nil {
		return api.Result{}, api.Refuse(api.CodeBadRequest,
			"an installation needs a caller that relays its connections: send the request in the streamed form, from this host")
	}

	begun := linux.Monotonic()
	s := Streams{Streams: streams, Retention: NewRetention(streams)}
	turn, stage := s.Turn(false), s.Retention.Stage(InstallRetention)
	defer stage.End(0)

	turn.Memory = stage
	l, err := r.lease(ctx, p, turn)
	if err != nil {
		return api.Result{}, err
	}

	s.Usage = nil
	res, _, err := r.executeOnce(ctx, l, p, nil, s, begun, take)
	return res, err
}

// executeLeased runs the plan in the leased cell and gives the lease back. The cell is in doubt
// unless all went well or the error is the caller's fault (AGT-10: also when a bug of ours panics).
// from is the file of a template, or nil. after is called while the lease lasts.
func executeLeased(ctx context.Context, l *pool.Lease, p *plan.Run, from *os.File, streams Streams, out *outputs.Streams,
	reporter *usageReporter, begun time.Duration, after func(*Outcome) error) (o *Outcome, err error) {
	doubt, stillRunning := true, false
	defer func() {
		if err != nil {
			streams.link.failed()
		}
		reporter.end() // the slot's next run must not be woken for this one
		if stillRunning {
			l.GiveBackWhenEmpty()
			return
		}
		l.GiveBack(doubt)
	}()

	at := Place{Slot: l.Slot(), Cell: l.Prepared.Cell, Shell: l.Prepared.Shell, Template: from, reporter: reporter}
	o, err = ExecuteSteps(ctx, at, p, streams, out, begun)
	if err == nil {
		err = after(o)
	}

	doubt, stillRunning = err != nil && !isUserError(err), err == nil && o.StillRunning
	return o, err
}
