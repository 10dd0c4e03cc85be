package outputs

import "time"

// A program that writes bytes one by one would wake the agent for each of them. The agent has no
// processor of its own, so it would take the time from the run in the next slot
// (TestHostileStormsLeaveTheNeighbourAlone, write). So after several small reads in a row a stream
// is throttled while its pipe fills. The end of the program is not seen later for that: the rest of
// its output is read when it has ended.
const (
	smallRead  = 4 << 10
	smallReads = 8

	// ThrottleTime is how long nothing is read then.
	ThrottleTime = time.Millisecond
)

// SmallReads are the small reads in a row.
type SmallReads int

// Add counts a read of n bytes, and reports whether those were too many: the count then begins anew.
func (r *SmallReads) Add(n int64) bool {
	if n >= smallRead {
		*r = 0
		return false
	}
	if *r++; *r < smallReads {
		return false
	}
	*r = 0
	return true
}

// Throttle counts a read of n bytes, and reports whether the stream is throttled from now on.
func (s *Stream) Throttle(n int64) bool {
	if n == 0 {
		s.small = 0
		return false
	}
	if !s.small.Add(n) {
		return false
	}
	s.Throttled = true
	return true
}
