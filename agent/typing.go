package agent

import (
	"sync"
	"time"
)

// What is typed at a terminal costs processor time that is charged to no program: the agent copies it, and workers of
// the kernel pass it on, byte by byte, also to a program that never reads (n_tty drops what is too much of a line). A
// terminal of a session has no slot, so clients who type without end would take all processors from the runs. So all
// terminals together have an allowance; those who type more take turns (TTY-02, TestTypingWithoutEnd). The frames of
// residents without a terminal cost as many keys; what is in them is read by the program, at its own cost.
const (
	typedAtOnce = 1 << 10
	typedRate   = 1 << 20 // bytes in a second
	typedFrame  = 256     // what a frame costs in addition, as bytes: a key
	typedSize   = 4 << 10 // what a new size or a signal costs in addition: who drags a window sends 60 in a second
	typedAhead  = 50 * time.Millisecond
)

// A typing is the allowance of all terminals of an agent. The zero value is ready.
type typing struct {
	mu   sync.Mutex
	next time.Time // guarded by mu; when what was typed is paid for
}

// pause is how long a client must wait before so many bytes of it are typed.
func (t *typing) pause(bytes int) (pause time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next, pause = payTyped(t.next, time.Now(), bytes)
	return pause
}

// payTyped takes the time of so many bytes from the allowance, which is used up until next. The pause is zero as long as
// no more than typedAhead is taken in advance.
func payTyped(next, now time.Time, bytes int) (after time.Time, pause time.Duration) {
	if next.Before(now) {
		next = now
	}
	after = next.Add(time.Duration(bytes) * time.Second / typedRate)
	return after, max(after.Sub(now)-typedAhead, 0)
}
