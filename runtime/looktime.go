package runtime

import (
	"time"

	"golang.org/x/sys/unix"
)

// A lookTime bounds one count of locks, in which the watch does nothing else. A program
// decides how much there is to count, and must not gain by it: processor time is bounded.
// How long that takes is the host's matter: an agent that waits for a processor must not
// tell an honest program that it has no locks left. The zero value is over.
type lookTime struct {
	processor time.Duration // of the thread, by CLOCK_THREAD_CPUTIME_ID
	wall      time.Duration // by monotonic
}

const (
	lookProcessor = 100 * time.Millisecond
	lookWall      = time.Second // how late a limit may be met on a host that is overloaded
)

// newLookTime begins one, of the calling thread, which the caller has locked itself to.
func newLookTime() lookTime {
	return lookTime{processor: threadTime() + lookProcessor, wall: monotonic() + lookWall}
}

// over reports whether the time is used up.
func (t lookTime) over() bool { return monotonic() > t.wall || threadTime() > t.processor }

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic("BUG: clock_gettime(CLOCK_THREAD_CPUTIME_ID): " + err.Error()) // cannot fail
	}
	return time.Duration(t.Nano())
}
