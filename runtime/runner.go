package runtime

import (
	"context"
	"log/slog"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cache"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A runner runs planned jobs in the cells of a pool.
type runner struct {
	log       *slog.Logger
	planner   *plan.Planner
	pool      *pool
	artifacts *cache.Cache // of compile stages; nil: every run compiles
	memory    memoryBounds
	about     hostFacts
}

// hostFacts are what results say of the host.
type hostFacts struct{ kernel, cgroupMode, version string }

// Run executes r and reports how it ended. An error means that brig refused or failed; whatever the
// program did is a Result. id is the run's id, also with an error; empty: the run was not planned.
// The end of ctx means that the caller has left, and cancels the run.
func (r *runner) Run(ctx context.Context, request api.Run, s api.Streams, caller api.Caller) (res api.Result, id string, err error) {
	begun := monotonic()
	streams := runStreams{s, newRetention(s)}
	defer func() { streams.retention.finish(&res) }()
	if err := streams.retention.add(r.blobBytes(request)); err != nil {
		return res, "", err
	}
	j, err := r.plan(request, caller)
	if err != nil {
		return res, "", err
	}
	j.Run.RetryDelay = s.RetryDelay
	if j.Compile != nil {
		j.Compile.RetryDelay = s.RetryDelay
	}
	res, err = r.runJob(ctx, j, streams, begun)
	return res, j.ID, err
}

// plan plans a run, and compiles the filters of its stages.
func (r *runner) plan(request api.Run, caller api.Caller) (*plan.Job, error) {
	j, err := r.planner.Job(request, caller)
	if err != nil {
		return nil, err
	}
	if j.Compile != nil {
		if _, err := r.pool.factory.filters.get(j.Compile.Cell.Policy); err != nil {
			return nil, err
		}
	}
	_, err = r.pool.factory.filters.get(j.Run.Cell.Policy)
	return j, err
}

// lease gets a slot for a plan. If wait is true it waits for one; otherwise it fails at once if none
// is free.
func (r *runner) lease(ctx context.Context, p *plan.Run, wait bool) (*lease, error) {
	want, err := r.pool.factory.cellPlan(p.Cell)
	if err != nil {
		return nil, err
	}
	if wait {
		return r.pool.acquireAgain(ctx, want, p.Once, p.Reservation())
	}
	return r.pool.acquire(ctx, want, p.Once, p.Reservation(), p.RetryDelay)
}

// execute leases a slot, runs the steps and judges.
func (r *runner) execute(ctx context.Context, p *plan.Run, streams runStreams, begun time.Duration, wait bool) (api.Result, error) {
	l, err := r.lease(ctx, p, wait)
	if err != nil {
		return api.Result{}, err
	}
	return r.executeIn(ctx, l, p, streams, begun)
}

// executeIn runs the steps and judges. The slot is given back before the caller has taken the last
// of the output: a caller that does not read must not keep it.
func (r *runner) executeIn(ctx context.Context, l *lease, p *plan.Run, streams runStreams, begun time.Duration) (api.Result, error) {
	out := newOutputs(streams, p, l.slot().wake)
	defer out.finish()
	reporter := startUsageReporter(streams.Usage, l.slot().wake)
	defer reporter.join()
	o, err := executeLeased(ctx, l, p, streams, out, reporter, begun)
	if err != nil {
		return api.Result{}, err
	}
	out.finish()
	return r.result(p, o, out), nil
}

// executeLeased runs the plan in the leased cell and gives the lease back. The cell is in doubt
// unless all went well or the error is the caller's fault (AGT-10: also when a bug of ours panics).
func executeLeased(ctx context.Context, l *lease, p *plan.Run, streams runStreams, out *outputs, reporter *usageReporter, begun time.Duration) (o *outcome, err error) {
	doubt, stillRunning := true, false
	defer func() {
		reporter.end() // the slot's next run must not be woken for this one
		if stillRunning {
			l.giveBackWhenEmpty()
			return
		}
		l.giveBack(doubt)
	}()
	at := place{slot: l.slot(), cell: l.prepared.cell, shell: l.prepared.shell, reporter: reporter}
	o, err = executeSteps(ctx, at, p, streams, out, begun)
	doubt, stillRunning = err != nil && !isUserError(err), err == nil && o.stillRunning
	return o, err
}
