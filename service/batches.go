package service

import (
	"cmp"
	"context"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/batches"
)

// batchRoutes are the batches: their requests, and the execution of their jobs.
type batchRoutes struct {
	*core
	store    *batches.Store // nil: the service takes none
	blobs    *blobs
	permits  *permits
	problems *storedProblems
	runs     *runs
}

// openBatches opens the batches that are on disk.
func openBatches(s *core, b *blobs, pm *permits, ps *storedProblems, rs *runs) (bs *batchRoutes, err error) {
	bs = &batchRoutes{core: s, blobs: b, permits: pm, problems: ps, runs: rs}
	if bs.cfg.Batches == "" {
		return bs, nil
	}
	bs.store, err = batches.Open(batches.Config{
		Dir: bs.cfg.Batches, Keep: bs.cfg.BatchKeep, Bytes: int64(bs.cfg.BatchBytes), Drain: bs.cfg.Grace, Log: bs.log,
		NewID: runID, Alone: func() bool { return !bs.cfg.Keys.Multiple() }, Slots: bs.batchSlots,
		Permit: bs.permitJob, Pin: bs.blobs.pin, Problem: bs.problems.jobProblem, Complete: bs.completeJob, Execute: bs.runs.executeJob,
		Healthy: bs.waitForAgent, Ended: bs.metrics.JobsEnded,
	})
	return bs, err
}

// opened returns the batches, or an error if the service has none.
func (bs *batchRoutes) opened() (*batches.Store, error) {
	if bs.store == nil {
		return nil, api.Refuse(api.CodeUnsupported, "this service takes no batches")
	}
	return bs.store, nil
}

// unknownSlots is for how many jobs there are workers while the agent has not said how many slots it has. They
// wait for slots in the queue.
const unknownSlots = 16

// batchSlots is how many jobs of batches are executed at once: unless the operator says otherwise, they leave
// one slot to other requests.
func (bs *batchRoutes) batchSlots() int {
	h, _, _ := bs.agent.get()
	return batchSlots(cmp.Or(h.Slots, unknownSlots), bs.cfg.BatchSlots)
}

// permitJob checks a job against the limits of its key, as POST /v1/runs does.
func (bs *batchRoutes) permitJob(owner string, r api.Run) (blobs []string, err error) {
	c, err := bs.callerNamed(owner)
	if err == nil {
		r.Language = bs.agent.resolveAlias(r.Language)
		_, err = bs.permits.run(c, r)
	}
	return r.Blobs(), err
}

// completeJob returns the run of a job that names a stored problem. Its memory and blobs are reserved until free is
// called.
func (bs *batchRoutes) completeJob(ctx context.Context, owner, ref string,
	own api.Run) (run api.Run, free func(), err error) {
	c, err := bs.callerNamed(owner)
	if err != nil {
		return run, nil, err
	}
	if run, free, err = bs.problems.completeRun(ctx, c, api.RunRequest{Run: own, Problem: ref}, bodyWait); err != nil {
		return run, nil, jobError(err)
	}
	return run, free, nil
}

// waitForAgent waits until the agent answers.
func (bs *batchRoutes) waitForAgent(ctx context.Context) error {
	for {
		_, err := bs.cfg.Agent.Health(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// limitsOf are the limits of a caller for its batches.
func limitsOf(c caller) batches.Limits {
	return batches.Limits{Batches: c.Batches, Bytes: int64(c.BatchBytes)}
}
