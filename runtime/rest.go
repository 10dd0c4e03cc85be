package runtime

import "time"

// A program that writes bytes one by one would wake the agent for each, and the agent
// has no processor of its own: it would take the time from whoever runs in the next slot
// (TestHostileStormsLeaveTheNeighbourAlone, write). So after some small reads in a row a
// stream rests, while its pipe fills. What ends meanwhile is not late: the rest of its
// output is read when it has ended.
const (
	smallRead  = 4 << 10
	smallReads = 8
	restTime   = time.Millisecond
)

// rest counts a read of n bytes.
func (w *watch) rest(s *stream, n int64) error {
	if n >= smallRead || n == 0 {
		s.small = 0
		return nil
	}
	if s.small++; s.small < smallReads {
		return nil
	}
	s.small, s.resting = 0, true
	return w.slot.rest.set(monotonic() + restTime)
}

func (w *watch) onRest() error {
	w.slot.rest.drain()
	for i := range w.out {
		w.out[i].resting = false
	}
	return w.unpark()
}
