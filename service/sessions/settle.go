package sessions

import (
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/execsocket"
)

// settleTime is how long a program waits for a client of Kubernetes that says nothing. kubectl takes longer to start.
const settleTime = 50 * time.Millisecond

// settle waits, before the program starts, until a client of Kubernetes reads its streams. kubectl 1.32.3 begins to read
// messages before it has made them, drops what comes by then, and shows no error: so the output of a quick program, or
// the failure, was lost. What it sends it sends after that; a client without stdin and terminal sends nothing, so it gets
// a while. The size of its terminal, of which nil is none, is then the one that the program begins with.
func (k *socket) settle(terminal *api.TTY, sizes <-chan api.TTY) {
	if k.subprotocol != execsocket.V5 {
		return
	}
	heard := k.heard
	if terminal != nil {
		heard = nil // the size comes, too
	}

	over := time.NewTimer(settleTime)
	defer over.Stop()
	select {
	case size := <-sizes:
		if terminal != nil {
			*terminal = size
		}
	case <-heard:
	case <-over.C:
	case <-k.ctx.Done():
	}
}
