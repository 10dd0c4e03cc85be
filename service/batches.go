package service

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/batches"
)

// Defaults of the batches of a service.
const (
	batchKeep  = 7 * 24 * time.Hour
	batchBytes = 16 * api.GiB
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
func openBatches(rs *runs) (bs *batchRoutes, err error) {
	bs = &batchRoutes{core: rs.core, blobs: rs.blobs, permits: rs.permits, problems: rs.problems, runs: rs}
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

func batchSlots(slots, most int) int {
	if most == 0 {
		most = slots - 1
	}
	return max(1, min(most, slots))
}

// callerNamed returns a key as it is now.
func (s *core) callerNamed(name string) (caller, error) {
	if s.cfg.Keys == nil && name == "" {
		return caller{}, nil
	}
	if s.cfg.Keys != nil {
		for _, k := range s.cfg.Keys.List() {
			if k.Name == name {
				return caller{k}, nil
			}
		}
	}
	return caller{}, api.Refuse(api.CodeUnauthorized, "the key of the batch was removed")
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

// pin keeps blobs of a key.
func (b *blobs) pin(owner string, digests []string) (unpin func(), err error) {
	unpin, missing := b.owners.pin(owner, digests)
	if missing != "" {
		return nil, noBlobError(missing)
	}
	return unpin, nil
}

// jobProblem says what a stored problem of a key is, by its name or digest.
func (ps *storedProblems) jobProblem(owner, ref string) (api.StoredProblem, error) {
	store, err := ps.opened()
	if err != nil {
		return api.StoredProblem{}, err
	}
	return store.About(owner, ref)
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

// jobError is an error as a result of a job has it.
func jobError(err error) error {
	p, _ := problemFor(err)
	return &api.Error{Code: p.Code, Message: p.Detail, RetrySafe: p.RetrySafe}
}

// executeJob executes a job once, with the limits that its key has now. It waits for a slot that no other request
// can have, however long that takes. That its blobs are the key's was checked when the job was taken: after a
// restart the service does not know whose they are.
func (rs *runs) executeJob(ctx context.Context, owner string, run api.Run) (api.Result, error) {
	c, err := rs.callerNamed(owner)
	if err != nil {
		return api.Result{}, err
	}

	o, err := rs.requestOf(c, run, checkOff)
	if err != nil {
		return api.Result{}, err
	}

	o.background = true
	if !rs.enter() {
		return api.Result{}, errStopping()
	}
	defer rs.wg.Done()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(rs.kill, cancel)()

	response := rs.newAgentResponse(c.Name)
	defer response.release()

	res, err := rs.dispatch(response.withQuota(ctx), o)
	if err != nil {
		return res, jobError(err)
	}
	return res, nil
}

var errStop = errors.New("the service stops")

// slotWait returns a context that ends when a request waits no longer for a slot.
func (rs *runs) slotWait(ctx context.Context, o *runRequest) (wait context.Context, stop func()) {
	if !o.background {
		return context.WithTimeoutCause(ctx, rs.cfg.Wait, errWaitTimeout)
	}
	wait, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(rs.stopping, func() { cancel(errStop) })
	return wait, func() { unwatch(); cancel(nil) }
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

// batchLimits are the limits of a caller for its batches.
func (c caller) batchLimits() batches.Limits {
	return batches.Limits{Batches: c.Batches, Bytes: int64(c.BatchBytes)}
}
