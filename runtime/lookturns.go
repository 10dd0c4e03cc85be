package runtime

import (
	"sync"
	"time"
)

// Sessions have no slots, and what an exec has left goes on: so all sessions together have
// one look at their locks at a time, and a tenth of one processor for it (CPU-45). The zero
// value has a turn to give.
type lookTurns struct {
	mu    sync.Mutex
	taken bool          // guarded by mu
	next  time.Duration // guarded by mu; nobody looks before, on the monotonic clock
}

// begin takes the turn, or says when to ask again.
func (t *lookTurns) begin() (later time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := monotonic()
	switch {
	case t.taken:
		return now + 10*time.Millisecond
	case now < t.next:
		return t.next
	}
	t.taken = true
	return 0
}

// end gives the turn back that was taken at begun.
func (t *lookTurns) end(begun time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := monotonic()
	t.taken, t.next = false, now+9*(now-begun)
}
