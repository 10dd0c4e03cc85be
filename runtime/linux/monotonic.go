package linux

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic reads the clock of cellinit's time stamps. Go's own reading of that clock is a call
// into the vDSO, and ClockGettime a system call: so the time is counted by Go from a single
// ClockGettime reading.
func Monotonic() time.Duration { return epoch.at + time.Since(epoch.when) }

var epoch = func() (e struct {
	at   time.Duration
	when time.Time
}) {
	var t unix.Timespec
	e.when = time.Now()
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("BUG: clock_gettime(CLOCK_MONOTONIC): " + err.Error()) // cannot fail
	}
	e.at = time.Duration(t.Nano())
	return e
}()
