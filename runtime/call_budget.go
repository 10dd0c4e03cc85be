package runtime

import (
	"errors"
	"os"
	"time"

	"github.com/brig-sandbox/brig/runtime/linux"

	"golang.org/x/sys/unix"
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

	priceCounted   = 1  // 100,000 a second
	priceRefused   = 10 // 1,000 at once, then 10,000 a second
	priceInSession = 50 // in a session: 200 at once, then 2,000 a second
)

func (p *callBudget) start(now time.Duration) { *p = callBudget{left: budgetFull, at: now} }

// spend subtracts the price of an answered call and returns the time until which no other call may
// be taken; zero: the next may be taken at once.
func (p *callBudget) spend(price int, now time.Duration) (until time.Duration) {
	const unit = time.Millisecond / budgetRate
	filled := int((now - p.at) / unit)
	p.at += time.Duration(filled) * unit
	p.left = min(budgetFull, p.left+filled) - price
	if p.left >= 0 {
		return 0
	}
	return now + max(time.Millisecond, time.Duration(-p.left)*unit)
}

// A callListener is a cell's listener in the poller of the goroutine that answers it. It is silent
// while no call may be taken.
type callListener struct {
	listener *os.File
	poller   *poller
	tag      int32
	timer    timer // expires when calls are taken again
	budget   callBudget
	paused   bool
	direct   bool // the poller polls the listener directly, outside its set
}

// pollDirectly makes the poller wait for calls in the fastest way, for a run that makes many.
func (l *callListener) pollDirectly() error {
	if l.direct {
		return nil
	}
	l.direct = true
	return l.updatePoller()
}

// updatePoller sets how the poller watches the listener, from its current state.
func (l *callListener) updatePoller() error {
	l.poller.directFD, l.poller.directTag = 0, l.tag
	var events uint32
	switch {
	case l.paused:
	case l.direct:
		l.poller.directFD = int32(linux.FD(l.listener))
	default:
		events = unix.EPOLLIN
	}
	return l.poller.modify(l.listener, events, l.tag)
}

// pauseUntil stops taking calls until the given time; zero changes nothing.
func (l *callListener) pauseUntil(until time.Duration) error {
	if until == 0 {
		return nil
	}
	if !l.paused {
		l.paused = true
		if err := l.updatePoller(); err != nil {
			return err
		}
	}
	return l.timer.set(until)
}

// resume takes calls again, after the timer has expired.
func (l *callListener) resume() error {
	l.timer.drain()
	if !l.paused {
		return nil
	}
	l.paused = false
	return l.updatePoller()
}

// close removes the listener from the poller.
func (l *callListener) close() error {
	l.poller.directFD = 0
	err := l.poller.remove(l.listener)
	if l.paused {
		err = errors.Join(err, l.timer.set(0))
	}
	return err
}
