package gateway

import (
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// minProgress is how much of a body with reserved memory must arrive within stallTimeout. Memory
// reserved for bytes that do not arrive is missing for others (API-02).
const minProgress = 64 * api.KiB

var stallTimeout = 10 * time.Second // shorter in tests

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
	p := &stallTimer{w: w}
	p.timer = time.AfterFunc(stallTimeout, p.check)
	p.timer.Stop()
	return p
}

// start starts the timer: the sender may send.
func (p *stallTimer) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running, p.n = true, 0
	p.timer.Reset(stallTimeout)
}

// pause stops the timer: the reader does not wait for the sender.
func (p *stallTimer) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = false
	p.timer.Stop()
}

func (p *stallTimer) received(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n += api.Size(n)
}

func (p *stallTimer) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.running:
	case p.n >= minProgress:
		p.n = 0
		p.timer.Reset(stallTimeout)
	default:
		p.running, p.timedOut = false, true
		_ = http.NewResponseController(p.w).SetReadDeadline(time.Now()) // fails only if the connection is closed
	}
}

// stalled reports whether the body stalled.
func (p *stallTimer) stalled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.timedOut
}
