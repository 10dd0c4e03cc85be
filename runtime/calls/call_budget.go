package calls

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// A callBudget limits the processor time that the agent spends on the calls of one listener, however fast
// they are made: a full budget at once, and then what budgetRate refills. A program that calls
// faster waits in the call, and delays only itself.
//
// The zero value has no budget yet; start gives it one.
type callBudget struct {
	left int
	at   time.Duration // time of the last refill
}

// The price of a call. The agent's answer takes between about 4 us (a counted call) and 25 us (in a
// session, where the agent looks for the exec that made it).
const (
	budgetFull = 10_000
	budgetRate = 100 // a millisecond

	PriceCounted   = 1  // 100,000 a second
	PriceRefused   = 10 // 1,000 at once, then 10,000 a second
	PriceInSession = 50 // in a session: 200 at once, then 2,000 a second
)

// Start gives a full budget.
func (p *callBudget) Start(now time.Duration) { *p = callBudget{left: budgetFull, at: now} }

// Spend subtracts the price of an answered call and returns the time until which no other call may
// be taken; zero: the next may be taken at once.
func (p *callBudget) Spend(price int, now time.Duration) (until time.Duration) {
	const unit = time.Millisecond / budgetRate
	filled := int((now - p.at) / unit)
	p.at += time.Duration(filled) * unit
	p.left = min(budgetFull, p.left+filled) - price
	if p.left >= 0 {
		return 0
	}
	return now + max(time.Millisecond, time.Duration(-p.left)*unit)
}

// A CallListener is a cell's listener in the poller of the goroutine that answers it. It is silent
// while no call may be taken.
type CallListener struct {
	Listener *os.File
	Poller   *linux.Poller
	Tag      int32
	Timer    Timer // expires when calls are taken again
	Budget   callBudget
	paused   bool
	direct   bool // the poller polls the listener directly, outside its set
}

// PollDirectly makes the poller wait for calls in the fastest way, for a run that makes many.
func (l *CallListener) PollDirectly() error {
	if l.direct {
		return nil
	}
	l.direct = true
	return l.updatePoller()
}

// updatePoller sets how the poller watches the listener, from its current state.
func (l *CallListener) updatePoller() error {
	l.Poller.DirectFD, l.Poller.DirectTag = 0, l.Tag
	var events uint32
	switch {
	case l.paused:
	case l.direct:
		l.Poller.DirectFD = int32(linux.FD(l.Listener))
	default:
		events = unix.EPOLLIN
	}
	return l.Poller.Modify(l.Listener, events, l.Tag)
}

// A Timer wakes who listens at an instant of the monotonic clock; zero: at none. Drain forgets that it did.
type Timer interface {
	Set(at time.Duration) error
	Drain()
}

// PauseUntil stops taking calls until the given time; zero changes nothing.
func (l *CallListener) PauseUntil(until time.Duration) error {
	if until == 0 {
		return nil
	}
	if !l.paused {
		l.paused = true
		if err := l.updatePoller(); err != nil {
			return err
		}
	}
	return l.Timer.Set(until)
}

// Resume takes calls again, after the timer has expired.
func (l *CallListener) Resume() error {
	l.Timer.Drain()
	if !l.paused {
		return nil
	}
	l.paused = false
	return l.updatePoller()
}

// Close removes the listener from the poller.
func (l *CallListener) Close() error {
	l.Poller.DirectFD = 0
	err := l.Poller.Remove(l.Listener)
	if l.paused {
		err = errors.Join(err, l.Timer.Set(0))
	}
	return err
}
