package problems

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/queue"
	"github.com/brig-sandbox/brig/service/quota"
)

// ProblemRun returns the run of a request that names a problem, with what the problem says. Its memory and
// blobs are reserved until free is called, which may be called repeatedly. large says that the request
// has memory of large bodies already: it must not wait long for more.
func (ps *Problems) ProblemRun(ctx context.Context, ask api.RunRequest,
	large bool) (run api.Run, free func(), err error) {
	wait := ps.Config.Wait
	if large {
		wait = min(wait, core.BodyWait)
	}
	return ps.CompleteRun(ctx, core.CallerOf(ctx), ask, wait)
}

// CompleteRun is ProblemRun for a caller; it waits for memory as long as wait says.
func (ps *Problems) CompleteRun(ctx context.Context, c core.Caller, ask api.RunRequest,
	wait time.Duration) (run api.Run, free func(), err error) {
	store, err := ps.opened()
	if err != nil {
		return run, nil, err
	}
	if err := ask.ValidateProblem(); err != nil {
		return run, nil, err
	}

	p, err := store.Find(c.Name, ask.Problem)
	if err != nil {
		return run, nil, err
	}
	defer p.Close()

	// The memory is reserved before the package is read, as for a body. Otherwise small requests could
	// have the service read large packages without a bound.
	reserved := ps.BodyQuota.Reserve(c.Name, core.LargeBodyMin)
	var unpin []func()
	release := func() {
		reserved.Release()
		for _, one := range unpin {
			one()
		}
	}

	defer func() {
		if err != nil {
			release()
		}
	}()

	if err := reserved.Grow(ctx, p.Memory(), wait); errors.Is(err, quota.ErrFull) {
		return run, nil, core.Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeBusy, "the memory for large requests is full of other requests: send it again later"))
	} else if err != nil {
		return run, nil, err
	}

	kept, err := ps.loadProblem(ctx, c, p)
	if err != nil {
		return run, nil, err
	}

	health, _, _ := ps.Agent.Get() // without it the run fails
	if run, err = kept.Run(ask.Run, ps.Agent.ResolveAlias(ask.Language), health.Ceiling); err != nil {
		return run, nil, api.About("problem "+p.About().Name, err)
	}

	// The blobs come last: they may be large, and a submission that the problem refuses must not have them
	// sent to the agent.
	if unpin, err = ps.pinProblemBlobs(ctx, c, p, kept.Blobs()); err != nil {
		return run, nil, err
	}
	return run, release, nil
}

// loadProblem reads what the run needs: like a body, one at a time unless it is small.
func (ps *Problems) loadProblem(ctx context.Context, c core.Caller, p *Stored) (Problem, error) {
	if p.Memory() <= core.LargeBodyMin {
		return p.Problem()
	}
	slot, err := ps.Parsing.Take(ctx, queue.Owner{Key: c.Name})
	if err != nil {
		return Problem{}, err
	}
	defer slot.Release()
	return p.Problem()
}

// pinProblemBlobs makes sure that the agent has the large files of a problem's tests, as blobs of the
// caller, and keeps them there until the returned functions are called. A key sends one problem's at a
// time.
func (ps *Problems) pinProblemBlobs(ctx context.Context, c core.Caller, p *Stored,
	blobs []Blob) (unpin []func(), err error) {
	if len(blobs) == 0 {
		return nil, nil
	}
	if err := ps.sending.Acquire(ctx, c.Name, 1, 0); err != nil {
		return nil, err
	}
	defer ps.sending.Release(c.Name, 1)

	for _, b := range blobs {
		one, err := ps.pinProblemBlob(ctx, c, p, b)
		if err != nil {
			return unpin, err
		}
		unpin = append(unpin, one)
	}

	return unpin, nil
}

func (ps *Problems) pinProblemBlob(ctx context.Context, c core.Caller, p *Stored,
	b Blob) (unpin func(), err error) {
	digests := []string{b.Digest}
	unpin, missing := ps.blobs.Owners.Pin(c.Name, digests)
	if missing == "" {
		has, err := ps.Config.Agent.HasBlob(ctx, b.Digest)
		if has && err == nil {
			return unpin, nil
		}
		unpin()
		if err != nil {
			return nil, err
		}
	}

	in, err := p.Blob(b)
	if err != nil {
		return nil, err
	}
	defer in.Close()

	if err := ps.blobs.Send(ctx, c, b.Digest, b.Size, &core.CountingReader{Reader: in}); err != nil {
		return nil, err
	}
	if unpin, missing = ps.blobs.Owners.Pin(c.Name, digests); missing != "" { // it was evicted at once
		return nil, core.Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeBusy, "other blobs of this key took the place of those of the problem: send the run again later"))
	}
	return unpin, nil
}

// JobProblem says what a stored problem of a key is, by its name or digest.
func (ps *Problems) JobProblem(owner, ref string) (api.StoredProblem, error) {
	store, err := ps.opened()
	if err != nil {
		return api.StoredProblem{}, err
	}
	return store.About(owner, ref)
}
