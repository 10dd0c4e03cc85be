package runtime

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A pace bounds the processor time that the agent spends on the calls of one listener,
// however fast they are made: a full budget at once, and what budgetRate fills in after
// that. Who calls faster waits in the call, and costs itself.
//
// The zero value has no budget yet; start gives it one.
type pace struct {
	left int
	at   time.Duration // when it was last filled
}

// The prices of a call, of which an agent's answer takes some 4 us (one that is counted)
// to 25 us (in a session, where the exec that made it is looked for).
const (
	budgetFull = 10_000
	budgetRate = 100 // a millisecond

	priceCounted  = 1  // 100,000 a second
	priceRefused  = 10 // 1,000 at once, then 10,000 a second
	priceForeseen = 50 // in a session: 200 at once, then 2,000 a second
)

func (p *pace) start(now time.Duration) { *p = pace{left: budgetFull, at: now} }

// spend takes the price of a call that was answered and returns until when no other is to
// be taken; zero: the next may come at once.
func (p *pace) spend(price int, now time.Duration) (until time.Duration) {
	const unit = time.Millisecond / budgetRate
	filled := int((now - p.at) / unit)
	p.at += time.Duration(filled) * unit
	p.left = min(budgetFull, p.left+filled) - price
	if p.left >= 0 {
		return 0
	}
	return now + max(time.Millisecond, time.Duration(-p.left)*unit)
}

// A listening is a cell's listener in the poller of who answers it, which is silent while
// no call is to be taken.
type listening struct {
	listener *os.File
	poller   *poller
	tag      int32
	timer    timer // rings when calls are taken again
	pace     pace
	silent   bool
	direct   bool // the poller asks for its events itself, out of its set
}

// near has the poller wait for calls in the fastest way, for a run that makes many.
func (l *listening) near() error {
	if l.direct {
		return nil
	}
	l.direct = true
	return l.watch()
}

// watch has the poller watch the listener as it is to be.
func (l *listening) watch() error {
	l.poller.next, l.poller.nextTag = 0, l.tag
	var events uint32
	switch {
	case l.silent:
	case l.direct:
		l.poller.next = int32(fd(l.listener))
	default:
		events = unix.EPOLLIN
	}
	return l.poller.change(l.listener, events, l.tag)
}

// hold takes no call until an instant; one in the past changes nothing.
func (l *listening) hold(until time.Duration) error {
	if until == 0 {
		return nil
	}
	if !l.silent {
		l.silent = true
		if err := l.watch(); err != nil {
			return err
		}
	}
	return l.timer.set(until)
}

// goOn takes calls again, when the timer has rung.
func (l *listening) goOn() error {
	l.timer.drain()
	if !l.silent {
		return nil
	}
	l.silent = false
	return l.watch()
}

// end takes the listener out of the poller.
func (l *listening) end() error {
	l.poller.next = 0
	err := l.poller.drop(l.listener)
	if l.silent {
		err = errors.Join(err, l.timer.set(0))
	}
	return err
}
