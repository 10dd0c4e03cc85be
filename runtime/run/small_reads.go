package run

import (
	"errors"
	"time"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// A program that writes bytes one by one would wake the agent for each of them. The agent has no
// processor of its own, so it would take the time from the run in the next slot
// (TestHostileStormsLeaveTheNeighbourAlone, write). So after several small reads in a row a stream
// is throttled while its pipe fills. The end of the program is not seen later for that: the rest of
// its output is read when it has ended.
const (
	smallRead    = 4 << 10
	smallReads   = 8
	throttleTime = time.Millisecond
)

// throttle counts a read of n bytes.
func (w *supervisor) throttle(s *stream, n int64) error {
	if n >= smallRead || n == 0 {
		s.small = 0
		return nil
	}
	if s.small++; s.small < smallReads {
		return nil
	}
	s.small, s.throttled = 0, true
	return w.Slot.Throttle.Set(linux.Monotonic() + throttleTime)
}

func (w *supervisor) onThrottleEnd() error {
	w.Slot.Throttle.Drain()
	for i := range w.out {
		w.out[i].throttled = false
	}
	return errors.Join(w.resumeOutputs(), w.resumeDiscards())
}
