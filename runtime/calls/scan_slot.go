package calls

import (
	"sync"
	"time"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// ScanSlot limits scans for locks in sessions. Sessions have no slots, and processes that an exec
// has left keep running, so all sessions together run one scan at once and use a tenth of one
// processor for it (CPU-45). The zero value is ready for use.
type ScanSlot struct {
	mu    sync.Mutex
	taken bool          // guarded by mu
	next  time.Duration // guarded by mu; no scan starts before, on the monotonic clock
}

// Begin starts a scan, or returns when to ask again.
func (t *ScanSlot) Begin() (later time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := linux.Monotonic()
	switch {
	case t.taken:
		return now + 10*time.Millisecond
	case now < t.next:
		return t.next
	}
	t.taken = true
	return 0
}

// End ends the scan that started at begun.
func (t *ScanSlot) End(begun time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := linux.Monotonic()
	t.taken, t.next = false, now+9*(now-begun)
}
