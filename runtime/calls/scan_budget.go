package calls

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// scanBudget bounds one scan for locks, during which the supervisor does nothing else. The program
// decides how much there is to count and must gain nothing by that, so processor time is bounded.
// Elapsed time depends on the host: an agent that waits for a processor must not tell an honest
// program that it has no locks left. The zero value is over.
type scanBudget struct {
	processor time.Duration // of the thread, by CLOCK_THREAD_CPUTIME_ID
	wall      time.Duration // by monotonic
}

const (
	scanCPU  = 100 * time.Millisecond
	scanWall = time.Second // how late a limit may be met on a host that is overloaded
)

// newScanBudget begins a scan's time, on the calling thread, to which the caller has locked itself.
func newScanBudget() scanBudget {
	return scanBudget{processor: threadTime() + scanCPU, wall: linux.Monotonic() + scanWall}
}

// over reports whether the time is used up.
func (t scanBudget) over() bool { return linux.Monotonic() > t.wall || threadTime() > t.processor }

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic("BUG: clock_gettime(CLOCK_THREAD_CPUTIME_ID): " + err.Error()) // cannot fail
	}
	return time.Duration(t.Nano())
}
