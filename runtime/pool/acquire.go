package pool

import (
	"context"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// Acquire is lease for a new request, which is refused if no slot is free and is then expected to be
// retried soon.
func (p *Pool) Acquire(ctx context.Context, want cell.Plan, once bool, memory api.Size, again time.Duration) (*Lease, error) {
	return p.AcquireFirst(again, func() (*Lease, error) { return p.Lease(ctx, want, once, memory) })
}

// AcquireFirst is Acquire where lease leases more than a slot with one cell.
func (p *Pool) AcquireFirst(again time.Duration, lease func() (*Lease, error)) (*Lease, error) {
	l, err := lease()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.lastWasTest, p.retryUntil = false, min(p.retryUntil, linux.Monotonic()+RetryWindow)
	case api.HasCode(err, api.CodeBusy):
		p.retryUntil = max(p.retryUntil, linux.Monotonic()+max(again, RetryWindow))
	}
	return l, err
}

// RetryWindow is how soon a refused caller retries: the gateway within 50 ms, and later only with a
// large request (api.Streams.RetryDelay).
const RetryWindow = 100 * time.Millisecond

// AcquireNext acquires a slot for a further test of a job, which was admitted with one slot. It
// alternates with other callers. A test waits for a release and so gets a slot sooner than a
// refused caller that retries: without alternation, tests could keep all other callers out for
// hours (TestTestsLeaveSlotsToOthers). try acquires what the test needs.
func (p *Pool) AcquireNext(ctx context.Context, try func() (*Lease, error)) (*Lease, error) {
	return p.RetryLease(ctx, RetryWindow/4, func() (*Lease, error) {
		if p.nextIsReserved() {
			return nil, api.Fail(api.CodeBusy, "the next slot is for another caller")
		}
		l, err := try()
		if err == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.lastWasTest = true
		}
		return l, err
	})
}

// nextIsReserved reports whether the next slot must not go to a test: a test had the last one, and another
// caller waits, or was refused and is expected to retry.
func (p *Pool) nextIsReserved() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastWasTest && (p.waitingExecs > 0 || linux.Monotonic() < p.retryUntil)
}

// HasFreeSlot reports whether a slot is free.
func (p *Pool) HasFreeSlot() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.slots, func(s *slotState) bool { return !s.leased })
}

// allSlotsFree reports whether no slot is leased.
func (p *Pool) allSlotsFree() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !slices.ContainsFunc(p.slots, func(s *slotState) bool { return s.leased })
}

// AcquireAgain is lease for a caller that had a slot before and has more to do. It waits for a slot and
// for memory. Runs end and release their memory, but sessions keep theirs for hours: if only
// sessions hold memory, the wait is limited.
func (p *Pool) AcquireAgain(ctx context.Context, want cell.Plan, once bool, memory api.Size) (*Lease, error) {
	var since time.Duration // of the first of the consecutive refusals during which no run had memory
	return p.RetryLease(ctx, memoryTick, func() (*Lease, error) {
		l, err := p.Lease(ctx, want, once, memory)
		switch now := linux.Monotonic(); {
		case !api.HasCode(err, api.CodeOverloaded) || !p.allSlotsFree():
			since = 0
		case since == 0:
			since = now
		case now-since >= memoryTimeout:
			return nil, api.Fail(api.CodeSetupTimeout, "no memory was free within %v: %w", memoryTimeout, err)
		}
		return l, err
	})
}

const (
	memoryTick    = time.Second     // how often memory is requested, in addition to each release of a slot
	memoryTimeout = 2 * time.Minute // the longest wait for memory
)

// RetryLease retries lease until there is no lack of slots or memory: at each release, and every
// interval if that is not zero.
func (p *Pool) RetryLease(ctx context.Context, interval time.Duration, lease func() (*Lease, error)) (*Lease, error) {
	var tick <-chan time.Time
	if interval > 0 {
		t := time.NewTicker(interval)
		defer t.Stop()
		tick = t.C
	}
	p.mu.Lock()
	p.waiters++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.waiters--
		p.mu.Unlock()
	}()
	for {
		p.mu.Lock()
		released := p.released
		p.mu.Unlock()
		l, err := lease()
		if !api.HasCode(err, api.CodeBusy, api.CodeOverloaded) {
			return l, err
		}
		select {
		case <-released:
		case <-tick:
		case <-ctx.Done():
			return nil, api.Fail(api.CodeStopping, "canceled while waiting for a slot: %w", ctx.Err())
		}
	}
}

// AcquireForExec leases a slot without a cell, for an exec: it has a cell, and its memory is already
// reserved. It waits as AcquireAgain does, because creating the session was its admission.
func (p *Pool) AcquireForExec(ctx context.Context) (*Lease, error) {
	p.mu.Lock()
	p.waitingExecs++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waitingExecs--
	}()
	return p.RetryLease(ctx, 0, func() (*Lease, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.closed {
			return nil, api.Fail(api.CodeStopping, "the agent is stopping: send the request again later")
		}
		s := choose(p.slots, plan.CellKey{}, false)
		if s == nil {
			return nil, api.Fail(api.CodeBusy, "all %d slots are busy: send the exec again", len(p.slots))
		}
		s.leased, p.lastWasTest = true, false
		return &Lease{Pool: p, slotState: s}, nil
	})
}
