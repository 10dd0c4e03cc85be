package session

import (
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// An alarm wakes the goroutine of a session at an instant. It is a timer of Go, and not of the kernel: an agent may
// have a thousand sessions, and a kernel timer is one more open file of each. It may be late by a millisecond or two.
type alarm struct {
	timer *time.Timer
	rang  atomic.Bool
}

// newAlarm makes an alarm that is not set. wake must not block.
func newAlarm(wake func()) *alarm {
	a := &alarm{}
	a.timer = time.AfterFunc(time.Hour, func() {
		a.rang.Store(true)
		wake()
	})
	a.timer.Stop()
	return a
}

// Set sets the alarm to an instant of the monotonic clock; zero: to none.
func (a *alarm) Set(at time.Duration) error {
	a.timer.Stop()
	if at != 0 {
		a.timer.Reset(at - linux.Monotonic())
	}
	return nil
}

// Drain forgets that the alarm rang.
func (a *alarm) Drain() { a.rang.Store(false) }

// stop ends the alarm.
func (a *alarm) stop() { a.timer.Stop() }
