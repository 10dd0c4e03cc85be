package pool

import (
	"context"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// This file has the only queue of the agent. A caller that must wait stands in one line for all that it
// needs: a slot, memory for its programs, and memory of the agent. It gets all at once or nothing, so
// that nobody holds one thing while it waits for another. Its place ends with the call.

// A Kind says which callers of the line a caller is.
type Kind int

const (
	First    Kind = iota // a new request: it waits for a bounded time, with a bounded number of others
	Session              // a new session: the same, in a number of its own
	Stage                // a further stage of a request that had a slot
	Test                 // a further test of a job that had a slot: tests alternate with all others
	Exec                 // an exec of a session
	optional             // work that runs can do without
)

// A Turn is how a caller waits.
type Turn struct {
	Kind   Kind
	Wait   time.Duration // of a First or a Session: the longest wait; zero: api.SlotWait
	Memory Memory        // what it needs of the agent's memory; nil: nothing
}

// Memory is what a stage needs of the agent's memory. The pool calls both with a lock held.
type Memory interface {
	// Reserve reserves it, or fails: with CodeBusy for now. common says whether it may be more than each
	// stage has guaranteed.
	Reserve(common bool) error
	// Release undoes Reserve. It must not call MemoryFreed: the line would be served again and again.
	Release()
}

const (
	maxWaiting = 128 // new requests that wait at the same time, and as many new sessions

	// maxPassed is how many callers may get memory for programs before one that lacks it, because they need less.
	// After that nobody behind it gets any until runs have ended that have this memory.
	maxPassed = 16

	memoryTick    = time.Second     // how often it is checked whether a wait is in vain
	memoryTimeout = 2 * time.Minute // the longest wait for memory in which nothing runs
)

// A waiter is a caller in the line.
type waiter struct {
	Turn
	noSlot bool          // it needs no slot
	size   api.Size      // of the memory for programs that grant reserves
	grant  func() error  // takes all that it needs, or nothing; p.mu is held
	until  time.Duration // of optional work
	yield  func()        // of optional work for which nobody waits: ends it, for a caller that waits; nil: it need not end

	since     time.Duration // when its wait began
	passed    int           // callers behind it that got memory for programs while it lacked that
	lack      lack          // why it was not served
	lackSince time.Duration // since when that is so
	reason    error         // the same, as a refusal
	served    bool
	err       error         // set when it is served: nothing was granted, and it need not wait
	wake      chan struct{} // closed when it is served
}

// String names callers of a kind.
func (k Kind) String() string {
	if k == Session {
		return "new sessions"
	}
	return "requests"
}

// A lack is what a caller that waits lacks.
type lack int

const (
	lacksSlot   lack = iota
	lacksHeld        // memory of the agent
	lacksMemory      // memory for its programs
	lacksPlace       // a place among the sessions
)

// isNew reports whether the waiter is one whose wait and number are bounded.
func (w *waiter) isNew() bool { return w.Kind == First || w.Kind == Session }

// await waits until the waiter is served, its time is over, or its caller leaves.
func (p *Pool) await(ctx context.Context, w *waiter) error {
	if err := p.enter(w); err != nil || w.wake == nil {
		return err
	}

	tick := time.NewTicker(w.interval())
	defer tick.Stop()

	for {
		var err error
		select {
		case <-w.wake:
			return w.err
		case <-ctx.Done():
			err = ctx.Err()
		case <-tick.C:
		}
		if left, err := p.leave(w, err); left {
			return err
		}
	}
}

// enter puts a waiter at the end of the line. If it need not wait there, it is served, or the error says
// why it is refused.
func (p *Pool) enter(w *waiter) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	w.since = linux.Monotonic()
	w.reason = api.Fail(api.CodeBusy, "all %d slots are busy: send the run again", len(p.slots))
	if w.isNew() && countOf(w.Kind, p.line) >= maxWaiting {
		w.reason = api.Fail(api.CodeBusy, "%d %s wait already, and no more may: send it again later", maxWaiting, w.Kind)
		return p.refusal(w)
	}

	p.line = append(p.line, w)
	p.waiting.Store(int64(len(p.line))) // before memory is asked for: what is freed after that wakes the line
	p.dispatch()
	if w.served {
		return w.err
	}

	w.wake = make(chan struct{})
	p.askToYield(w)
	if err := p.expired(w); err != nil {
		p.remove(w)
		return err
	}
	return nil
}

// leave takes a waiter out of the line, if it has not been served: because its caller has left, or because its time is
// over.
func (p *Pool) leave(w *waiter, callerLeft error) (left bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if w.served {
		return false, nil
	}
	if callerLeft != nil {
		err = api.Fail(api.CodeStopping, "canceled while waiting for %s: %w", w.lacks(), callerLeft)
	} else {
		err = p.expired(w)
	}
	if err == nil {
		return false, nil
	}

	p.remove(w)
	p.dispatch() // it may have been in the way
	return true, err
}

// lacks names what the waiter waits for. p.mu is held.
func (w *waiter) lacks() string {
	switch {
	case w.Kind == Session:
		return "room for a session"
	case w.lack == lacksMemory:
		return "memory for its programs, which others have reserved"
	case w.lack == lacksHeld:
		return "memory of the agent"
	}
	return "a slot"
}

// askToYield ends work for which nobody waits if a caller lacks a slot, or memory for its programs. p.mu is held.
func (p *Pool) askToYield(w *waiter) {
	if w.yield != nil || w.lack == lacksHeld || w.lack == lacksPlace {
		return
	}
	for _, s := range p.slots {
		if s.yield != nil {
			s.yield()
		}
	}
}

// othersWait reports whether anybody waits but work for which nobody does. p.mu is held.
func (p *Pool) othersWait() bool {
	return slices.ContainsFunc(p.line, func(w *waiter) bool { return w.yield == nil })
}

func (p *Pool) remove(w *waiter) {
	p.line = slices.DeleteFunc(p.line, func(o *waiter) bool { return o == w })
	p.waiting.Store(int64(len(p.line)))
}

// interval is how often expired must be asked.
func (w *waiter) interval() time.Duration {
	switch w.Kind {
	case First, Session:
		return w.wait()
	case optional:
		return optionalMemoryWait / 4
	}
	return memoryTick
}

func (w *waiter) wait() time.Duration {
	if w.Wait > 0 {
		return w.Wait
	}
	return api.SlotWait
}

// expired returns the error of a waiter whose wait is over. A caller that had a slot before waits for as long as
// others run: they end and release what they have. p.mu is held.
func (p *Pool) expired(w *waiter) error {
	now := linux.Monotonic()
	switch w.Kind {
	case First, Session:
		if now-w.since >= w.wait() {
			return p.refusal(w)
		}
	case optional:
		switch {
		case w.lack == lacksMemory && !waitsForMemory(now-w.lackSince, p.allSlotsFree()):
			return api.Fail(api.CodeSetupTimeout, "no memory is free for it: %w", w.reason)
		case now >= w.until:
			return w.reason
		}

	default:
		if p.allSlotsFree() && now-max(w.since, p.idleSince) >= memoryTimeout {
			return api.Fail(api.CodeSetupTimeout, "no memory was free within %v in which nothing ran: %w",
				memoryTimeout, w.reason)
		}
	}

	return nil
}

// refusal refuses a new request, and estimates when it would have what it lacks. p.mu is held.
func (p *Pool) refusal(w *waiter) error {
	const shortest, longest = time.Second, time.Minute
	line := p.line
	if i := slices.Index(line, w); i >= 0 {
		line = line[:i]
	}

	before, each, places := len(line)-countOf(Session, line), p.leaseTime, len(p.slots)
	if w.Kind == Session {
		before, each, places = countOf(Session, line), p.sessions.life, p.sessions.living
	}

	estimate := each * time.Duration(before+1) / time.Duration(max(places, 1))
	estimate = min(max(estimate.Round(time.Second), shortest), longest)
	code := api.AsError(w.reason).Code
	e := api.Fail(code, "%w (%d wait before it: in about %v)", w.reason, before, estimate)
	e.RetryAfter = estimate
	return e
}

// countOf counts the callers of a kind.
func countOf(k Kind, line []*waiter) (n int) {
	for _, w := range line {
		if w.Kind == k {
			n++
		}
	}
	return n
}

// dispatch serves whom it can. It is called whenever something has become free, or the line has changed.
// p.mu is held.
func (p *Pool) dispatch() {
	for len(p.line) > 0 && p.serveOne() {
	}
}

// serveOne serves the first caller that can be served. One that lacks memory does not keep the slots from
// those behind it, except as maxPassed says, and never from those that need no memory for programs. But no caller
// gets memory of the agent above what each has guaranteed while an earlier one waits for that. Memory and places of
// sessions are kept for nobody: sessions may have them for hours. They go to the first that needs no more than is free.
func (p *Pool) serveOne() bool {
	slots, common, programs := !p.allSlotsLeased(), true, true
	var passed []*waiter
	for _, w := range p.order() {
		if !slots && !w.noSlot || !programs && w.size > 0 || w.yield != nil && p.othersWait() {
			continue
		}

		lacks, err := p.try(w, common)
		if err == nil || !api.HasCode(err, api.CodeBusy, api.CodeOverloaded, api.CodeSessionsFull) {
			if w.size > 0 {
				for _, one := range passed {
					one.passed++
				}
			}
			p.serve(w, err)
			return true
		}

		if w.lack != lacks {
			w.lackSince = linux.Monotonic()
		}

		w.lack, w.reason = lacks, err
		switch {
		case lacks == lacksHeld:
			common = false
		case lacks == lacksMemory && p.runsHold(w.size):
			passed = append(passed, w)
			programs = programs && w.passed < maxPassed
		}
	}

	return false
}

// order is the line, in the order in which its callers are tried: after a test got a slot, all others come
// before tests. A job of many tests would otherwise keep callers out for hours
// (TestTestsLeaveSlotsToOthers). p.mu is held.
func (p *Pool) order() []*waiter {
	if !p.lastWasTest || len(p.line) < 2 {
		return p.line
	}
	first, tests := make([]*waiter, 0, len(p.line)), []*waiter(nil)
	for _, w := range p.line {
		if w.Kind == Test {
			tests = append(tests, w)
		} else {
			first = append(first, w)
		}
	}
	return append(first, tests...)
}

// try grants all that a waiter needs, or nothing. p.mu is held.
func (p *Pool) try(w *waiter, common bool) (lack, error) {
	if w.Memory != nil {
		if err := w.Memory.Reserve(common); err != nil {
			return lacksHeld, err
		}
	}

	err := w.grant()
	if err != nil && w.Memory != nil {
		w.Memory.Release()
	}
	switch {
	case api.HasCode(err, api.CodeOverloaded):
		return lacksMemory, err
	case api.HasCode(err, api.CodeSessionsFull):
		return lacksPlace, err
	}
	return lacksSlot, err
}

// serve ends the wait of a caller. p.mu is held.
func (p *Pool) serve(w *waiter, err error) {
	p.remove(w)
	w.served, w.err = true, err
	if w.wake != nil {
		close(w.wake)
	}
	if err == nil && !w.noSlot && w.Kind != Stage {
		p.lastWasTest = w.Kind == Test
	}
}

// runsHold reports whether so much memory will be free when all runs have ended: if not, sessions have it,
// for hours. p.mu is held.
func (p *Pool) runsHold(size api.Size) bool { return p.sessions.memory+size <= p.memory }

// MemoryFreed has the line served anew after memory of the agent was released.
func (p *Pool) MemoryFreed() {
	if p.waiting.Load() == 0 {
		return
	}
	select {
	case p.freed <- struct{}{}:
	default: // it is going to happen
	}
}

// serveFreed serves the line after MemoryFreed, whose caller may hold locks that Memory needs.
func (p *Pool) serveFreed(ctx context.Context) {
	for {
		select {
		case <-p.freed:
			p.mu.Lock()
			p.dispatch()
			p.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// allSlotsFree reports whether no slot is leased, and allSlotsLeased whether all are. p.mu is held.
func (p *Pool) allSlotsFree() bool {
	return !slices.ContainsFunc(p.slots, func(s *slotState) bool { return s.leased })
}

func (p *Pool) allSlotsLeased() bool {
	return !slices.ContainsFunc(p.slots, func(s *slotState) bool { return !s.leased })
}

// waitsForMemory reports whether optional work still waits for memory: not if no run holds any, because
// sessions keep theirs for hours, and otherwise only for a moment, because a request waits for the work
// (TPL-08).
func waitsForMemory(lackedFor time.Duration, allSlotsFree bool) bool {
	return !allSlotsFree && lackedFor < optionalMemoryWait
}

const optionalMemoryWait = 2 * time.Second
