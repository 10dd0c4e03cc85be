package gateway

import (
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// leastComes is how much of a body that has room must come while stillFor passes. Room that is
// kept for what does not come is kept from others (API-02).
const leastComes = 64 * api.KiB

var stillFor = 10 * time.Second // tests have less time

// A pace has the reading of a body that stands still fail.
type pace struct {
	w     http.ResponseWriter
	timer *time.Timer

	mu    sync.Mutex
	runs  bool     // guarded by mu; the sender's turn: there is room
	n     api.Size // guarded by mu; that came since the timer began
	still bool     // guarded by mu
}

// watchPace makes a pace, which begins with begin.
func watchPace(w http.ResponseWriter) *pace {
	p := &pace{w: w}
	p.timer = time.AfterFunc(stillFor, p.look)
	p.timer.Stop()
	return p
}

// begin has the sender send.
func (p *pace) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs, p.n = true, 0
	p.timer.Reset(stillFor)
}

// rest says that it is not the sender who is waited for.
func (p *pace) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs = false
	p.timer.Stop()
}

func (p *pace) came(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n += api.Size(n)
}

func (p *pace) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.runs:
	case p.n >= leastComes:
		p.n = 0
		p.timer.Reset(stillFor)
	default:
		p.runs, p.still = false, true
		_ = http.NewResponseController(p.w).SetReadDeadline(time.Now()) // fails only where there is no connection
	}
}

// stood reports whether the body stood still.
func (p *pace) stood() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.still
}
