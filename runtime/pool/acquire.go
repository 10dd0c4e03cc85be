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

// Acquire is lease for a new request. It waits up to api.SlotWait for a slot, and is then refused and
// expected to be retried soon.
func (p *Pool) Acquire(ctx context.Context, want cell.Plan, once bool, memory api.Size, again time.Duration) (*Lease, error) {
	return p.AcquireFirst(ctx, again, func() (*Lease, error) { return p.Lease(ctx, want, once, memory) })
}

// AcquireFirst is Acquire where lease leases more than a slot with one cell. As many requests may wait
// as there are slots: more are refused at once, so that requests that wait do not fill the agent.
func (p *Pool) AcquireFirst(ctx context.Context, again time.Duration, lease func() (*Lease, error)) (*Lease, error) {
	l, err := lease()
	if api.HasCode(err, api.CodeBusy) && p.beginWait() {
		l, err = p.retryFor(ctx, api.SlotWait, 0, lease)
		p.endWait()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.lastWasTest, p.retryUntil = false, 0
	case api.HasCode(err, api.CodeBusy):
		p.retryUntil = max(p.retryUntil, linux.Monotonic()+max(again, RetryWindow))
	}
	return l, err
}

// retryFor is RetryLease until wait is over. The end of the wait is the last refusal, not that of a
// caller which left.
func (p *Pool) retryFor(ctx context.Context, wait, interval time.Duration, lease func() (*Lease, error)) (*Lease, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var refused error
	l, err := p.RetryLease(limited, interval, func() (*Lease, error) {
		l, err := lease()
		if api.HasCode(err, api.CodeBusy, api.CodeOverloaded) {
			refused = err
		}
		return l, err
	})
	if api.HasCode(err, api.CodeStopping) && refused != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, refused
	}
	return l, err
}

// beginWait reports whether one more new request may wait for a slot; endWait ends its wait.
func (p *Pool) beginWait() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waitingRuns >= len(p.slots) {
		return false
	}
	p.waitingRuns++
	return true
}

func (p *Pool) endWait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waitingRuns--
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
	return p.lastWasTest && (p.waitingExecs > 0 || p.waitingRuns > 0 || linux.Monotonic() < p.retryUntil)
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

// AcquireOptional is lease for work that runs can do without, which a request has caused that holds no
// slot meanwhile. It waits for a slot until a time, and tests alternate with it as with an exec. For
// memory it waits only as waitsForMemory says.
func (p *Pool) AcquireOptional(ctx context.Context, want cell.Plan, once bool, memory api.Size, until time.Duration) (*Lease, error) {
	defer p.reserveForExec()()
	var since time.Duration // of the first of the consecutive refusals for lack of memory
	l, err := p.retryFor(ctx, until-linux.Monotonic(), optionalMemoryWait/4, func() (*Lease, error) {
		l, err := p.Lease(ctx, want, once, memory)
		now := linux.Monotonic()
		switch {
		case !api.HasCode(err, api.CodeOverloaded):
			since = 0
		case since == 0:
			since = now
		}
		if since != 0 && !waitsForMemory(now-since, p.allSlotsFree()) {
			return nil, api.Fail(api.CodeSetupTimeout, "no memory is free for it: %w", err)
		}
		return l, err
	})
	if err == nil {
		p.mu.Lock()
		p.lastWasTest = false
		p.mu.Unlock()
	}
	return l, err
}

// waitsForMemory reports whether optional work still waits for memory: not if no run holds any, because
// sessions keep theirs for hours, and otherwise only for a moment, because a request waits for the work
// (TPL-08).
func waitsForMemory(refusedFor time.Duration, allSlotsFree bool) bool {
	return !allSlotsFree && refusedFor < optionalMemoryWait
}

const optionalMemoryWait = 2 * time.Second

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
	defer p.reserveForExec()()
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

// reserveForExec makes tests leave the next slot to a caller that waits, until the result is called.
func (p *Pool) reserveForExec() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waitingExecs++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waitingExecs--
	}
}
