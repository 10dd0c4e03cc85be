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

// openBatches opens the batches that are on disk; nil: the service has none.
func (g *Gateway) openBatches() (err error) {
	if g.cfg.Batches == "" {
		return nil
	}
	g.batches, err = batches.Open(batches.Config{
		Dir: g.cfg.Batches, Keep: g.cfg.BatchKeep, Bytes: int64(g.cfg.BatchBytes), Drain: g.cfg.Grace, Log: g.log,
		NewID: runID, Alone: func() bool { return !g.cfg.Keys.Multiple() }, Slots: g.batchSlots,
		Permit: g.permitJob, Pin: g.pinBlobs, Problem: g.jobProblem, Complete: g.completeJob, Execute: g.executeJob,
		Healthy: g.waitForAgent, Ended: g.metrics.JobsEnded,
	})
	return err
}

// batchStore returns the batches, or an error if the service has none.
func (g *Gateway) batchStore() (*batches.Store, error) {
	if g.batches == nil {
		return nil, api.Refuse(api.CodeUnsupported, "this service takes no batches")
	}
	return g.batches, nil
}

// unknownSlots is for how many jobs there are workers while the agent has not said how many slots it has. They
// wait for slots in the queue.
const unknownSlots = 16

// batchSlots is how many jobs of batches are executed at once: unless the operator says otherwise, they leave
// one slot to other requests.
func (g *Gateway) batchSlots() int {
	h, _, _ := g.agent.get()
	return batchSlots(cmp.Or(h.Slots, unknownSlots), g.cfg.BatchSlots)
}

func batchSlots(slots, most int) int {
	if most == 0 {
		most = slots - 1
	}
	return max(1, min(most, slots))
}

// callerNamed returns a key as it is now.
func (g *Gateway) callerNamed(name string) (caller, error) {
	if g.cfg.Keys == nil && name == "" {
		return caller{}, nil
	}
	if g.cfg.Keys != nil {
		for _, k := range g.cfg.Keys.List() {
			if k.Name == name {
				return caller{k}, nil
			}
		}
	}
	return caller{}, api.Refuse(api.CodeUnauthorized, "the key of the batch was removed")
}

// permitJob checks a job against the limits of its key, as POST /v1/runs does.
func (g *Gateway) permitJob(owner string, r api.Run) (blobs []string, err error) {
	c, err := g.callerNamed(owner)
	if err == nil {
		r.Language = g.agent.resolveAlias(r.Language)
		_, err = g.permitRun(c, r)
	}
	return r.Blobs(), err
}

// pinBlobs keeps blobs of a key.
func (g *Gateway) pinBlobs(owner string, digests []string) (unpin func(), err error) {
	unpin, missing := g.blobs.pin(owner, digests)
	if missing != "" {
		return nil, noBlobError(missing)
	}
	return unpin, nil
}

// jobProblem says what a stored problem of a key is, by its name or digest.
func (g *Gateway) jobProblem(owner, ref string) (api.StoredProblem, error) {
	store, err := g.problemStore()
	if err != nil {
		return api.StoredProblem{}, err
	}
	return store.About(owner, ref)
}

// completeJob returns the run of a job that names a stored problem. Its memory and blobs are reserved until free is
// called.
func (g *Gateway) completeJob(ctx context.Context, owner, ref string,
	own api.Run) (run api.Run, free func(), err error) {
	c, err := g.callerNamed(owner)
	if err != nil {
		return run, nil, err
	}
	if run, free, err = g.completeRun(ctx, c, api.RunRequest{Run: own, Problem: ref}, bodyWait); err != nil {
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
func (g *Gateway) executeJob(ctx context.Context, owner string, run api.Run) (api.Result, error) {
	c, err := g.callerNamed(owner)
	if err != nil {
		return api.Result{}, err
	}

	o, err := g.requestOf(c, run, checkOff)
	if err != nil {
		return api.Result{}, err
	}

	o.background = true
	if !g.enter() {
		return api.Result{}, errStopping()
	}
	defer g.wg.Done()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.kill, cancel)()

	response := g.newAgentResponse(c.Name)
	defer response.release()

	res, err := g.dispatch(response.withQuota(ctx), o)
	if err != nil {
		return res, jobError(err)
	}
	return res, nil
}

var errStop = errors.New("the service stops")

// slotWait returns a context that ends when a request waits no longer for a slot.
func (g *Gateway) slotWait(ctx context.Context, o *runRequest) (wait context.Context, stop func()) {
	if !o.background {
		return context.WithTimeoutCause(ctx, g.cfg.Wait, errWaitTimeout)
	}
	wait, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(g.stopping, func() { cancel(errStop) })
	return wait, func() { unwatch(); cancel(nil) }
}

// waitForAgent waits until the agent answers.
func (g *Gateway) waitForAgent(ctx context.Context) error {
	for {
		_, err := g.cfg.Agent.Health(ctx)
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
