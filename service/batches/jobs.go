package batches

import (
	"cmp"
	"context"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/blobs"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/permits"
	"github.com/brig-sandbox/brig/service/problems"
	"github.com/brig-sandbox/brig/service/runs"
)

// Batches are the batches: their requests, and the execution of their jobs.
type Batches struct {
	*core.Core
	Store    *Store // nil: the service takes none
	blobs    *blobs.Blobs
	permits  *permits.Permits
	problems *problems.Problems
	runs     *runs.Runs
}

// New opens the batches that are on disk.
func New(s *core.Core, b *blobs.Blobs, pm *permits.Permits, ps *problems.Problems,
	rs *runs.Runs) (bs *Batches, err error) {
	bs = &Batches{Core: s, blobs: b, permits: pm, problems: ps, runs: rs}
	if bs.Config.Batches == "" {
		return bs, nil
	}
	bs.Store, err = Open(Config{
		Dir: bs.Config.Batches, Keep: bs.Config.BatchKeep, Bytes: int64(bs.Config.BatchBytes), Drain: bs.Config.Grace,
		Log:   bs.Log,
		NewID: core.NewID, Alone: func() bool { return !bs.Config.Keys.Multiple() }, Slots: bs.batchSlots,
		Permit: bs.permitJob, Pin: bs.blobs.Pin, Problem: bs.problems.JobProblem, Complete: bs.completeJob,
		Execute: bs.runs.ExecuteJobOf,
		Healthy: bs.waitForAgent, Ended: bs.Metrics.JobsEnded,
	})
	return bs, err
}

// opened returns the batches, or an error if the service has none.
func (bs *Batches) opened() (*Store, error) {
	if bs.Store == nil {
		return nil, api.Refuse(api.CodeUnsupported, "this service takes no batches")
	}
	return bs.Store, nil
}

// unknownSlots is for how many jobs there are workers while the agent has not said how many slots it has. They
// wait for slots in the queue.
const unknownSlots = 16

// batchSlots is how many jobs of batches are executed at once: unless the operator says otherwise, they leave
// one slot to other requests.
func (bs *Batches) batchSlots() int {
	h, _, _ := bs.Agent.Get()
	return core.BatchSlots(cmp.Or(h.Slots, unknownSlots), bs.Config.BatchSlots)
}

// permitJob checks a job against the limits of its key, as POST /v1/runs does.
func (bs *Batches) permitJob(owner string, r api.Run) (blobs []string, err error) {
	c, err := bs.CallerNamed(owner)
	if err == nil {
		r.Language = bs.Agent.ResolveAlias(r.Language)
		_, err = bs.permits.Run(c, r)
	}
	return r.Blobs(), err
}

// completeJob returns the run of a job that names a stored problem. Its memory and blobs are reserved until free is
// called.
func (bs *Batches) completeJob(ctx context.Context, owner, ref string,
	own api.Run) (run api.Run, free func(), err error) {
	c, err := bs.CallerNamed(owner)
	if err != nil {
		return run, nil, err
	}
	ask := api.RunRequest{Run: own, Problem: ref}
	if run, free, err = bs.problems.CompleteRun(ctx, c, ask, core.BodyWait); err != nil {
		return run, nil, core.JobError(err)
	}
	return run, free, nil
}

// waitForAgent waits until the agent answers.
func (bs *Batches) waitForAgent(ctx context.Context) error {
	for {
		_, err := bs.Config.Agent.Health(ctx)
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
func limitsOf(c core.Caller) Limits {
	return Limits{Batches: c.Batches, Bytes: int64(c.BatchBytes)}
}
