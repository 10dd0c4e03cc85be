package core

import (
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// minProgress is how much of a body with reserved memory must arrive within StallTimeout. Memory
// reserved for bytes that do not arrive is missing for others (API-02).
const minProgress = 64 * api.KiB

// StallTimeout is how long a large body may stall.
var StallTimeout = 10 * time.Second // shorter in tests

// A stallTimer makes the reading of a stalled body fail.
type stallTimer struct {
	w     http.ResponseWriter
	timer *time.Timer

	mu       sync.Mutex
	running  bool     // guarded by mu; memory is reserved, the sender may send
	n        api.Size // guarded by mu; bytes that arrived since the timer started
	timedOut bool     // guarded by mu
}

// newStallTimer creates a timer that is stopped.
func newStallTimer(w http.ResponseWriter) *stallTimer {
	t := &stallTimer{w: w}
	t.timer = time.AfterFunc(StallTimeout, t.check)
	t.timer.Stop()
	return t
}

// start starts the timer: the sender may send.
func (t *stallTimer) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running, t.n = true, 0
	t.timer.Reset(StallTimeout)
}

// pause stops the timer: the reader does not wait for the sender.
func (t *stallTimer) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running = false
	t.timer.Stop()
}

func (t *stallTimer) received(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n += api.Size(n)
}

func (t *stallTimer) check() {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.running:
	case t.n >= minProgress:
		t.n = 0
		t.timer.Reset(StallTimeout)
	default:
		t.running, t.timedOut = false, true
		_ = http.NewResponseController(t.w).SetReadDeadline(time.Now()) // fails only if the connection is closed
	}
}

// stalled reports whether the body stalled.
func (t *stallTimer) stalled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.timedOut
}
