package runtime

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// arrive is lease for one who is refused what is not free, and then comes again soon.
func (p *pool) arrive(ctx context.Context, want cellPlan, once bool, memory api.Size, again time.Duration) (*lease, error) {
	l, err := p.lease(ctx, want, once, memory)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.testLast, p.expected = false, min(p.expected, monotonic()+comesAgain)
	case isFull(err, api.CodeBusy):
		p.expected = max(p.expected, monotonic()+max(again, comesAgain))
	}
	return l, err
}

// comesAgain is how soon one who was refused a slot comes for it again: the gateway
// within 50 ms, and later only with a large request (Streams.Again).
const comesAgain = 100 * time.Millisecond

// awaitNext is await for a further test of a job, which was admitted for one slot. Tests and
// whoever else wants a slot have them by turns: those could keep all others out for hours, as
// who waits for a release has a slot sooner than who comes again (TestTestsLeaveSlotsToOthers).
// try is to get what the test needs.
func (p *pool) awaitNext(ctx context.Context, try func() (*lease, error)) (*lease, error) {
	return p.patiently(ctx, comesAgain/4, func() (*lease, error) {
		if p.owed() {
			return nil, api.Fail(api.CodeBusy, "the next slot is another's")
		}
		l, err := try()
		if err == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.testLast = true
		}
		return l, err
	})
}

// owed reports whether the next slot is not a test's: one had the last, and somebody else
// waits, or was refused and may be expected to come again.
func (p *pool) owed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.testLast && (p.turns > 0 || monotonic() < p.expected)
}

// free reports whether there is a slot that nobody has.
func (p *pool) free() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.slots, func(s *stall) bool { return !s.leased })
}

// unused reports whether nobody has a slot.
func (p *pool) unused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !slices.ContainsFunc(p.slots, func(s *stall) bool { return s.leased })
}

func isFull(err error, codes ...api.Code) bool {
	var e *api.Error
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}

// await is lease for somebody who was given a slot before and has more to do: it
// waits for a slot, and for memory to be promised. Runs end, and give theirs back;
// sessions have their memory for hours, so that the wait has an end where only they have any.
func (p *pool) await(ctx context.Context, want cellPlan, once bool, memory api.Size) (*lease, error) {
	var since time.Duration // of the first of the refusals without a break while no run had memory
	return p.patiently(ctx, memoryTick, func() (*lease, error) {
		l, err := p.lease(ctx, want, once, memory)
		switch now := monotonic(); {
		case !isFull(err, api.CodeOverloaded) || !p.unused():
			since = 0
		case since == 0:
			since = now
		case now-since >= memoryPatience:
			return nil, api.Fail(api.CodeSetupTimeout, "no memory was free within %v: %w", memoryPatience, err)
		}
		return l, err
	})
}

const (
	memoryTick     = time.Second     // how often memory is asked for, beside each time that a slot is given back
	memoryPatience = 2 * time.Minute // the longest that is waited for it
)

// patiently tries to lease until there is something to be had: at each release, and every
// so often where that is not zero.
func (p *pool) patiently(ctx context.Context, often time.Duration, lease func() (*lease, error)) (*lease, error) {
	var tick <-chan time.Time
	if often > 0 {
		t := time.NewTicker(often)
		defer t.Stop()
		tick = t.C
	}
	p.mu.Lock()
	p.waiting++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.waiting--
		p.mu.Unlock()
	}()
	for {
		p.mu.Lock()
		released := p.released
		p.mu.Unlock()
		l, err := lease()
		if !isFull(err, api.CodeBusy, api.CodeOverloaded) {
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

// turn leases a slot without a cell, for an exec: it has a cell, and its memory is
// promised already. It waits as await does: that the session was made is its
// admission.
func (p *pool) turn(ctx context.Context) (*lease, error) {
	p.mu.Lock()
	p.turns++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.turns--
	}()
	return p.patiently(ctx, 0, func() (*lease, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.closed {
			return nil, api.Fail(api.CodeStopping, "the agent is stopping: ask again later")
		}
		s := choose(p.slots, cellKey{}, false)
		if s == nil {
			return nil, api.Fail(api.CodeBusy, "all %d slots are busy: send the exec again", len(p.slots))
		}
		s.leased, p.testLast = true, false
		return &lease{pool: p, stall: s}, nil
	})
}
