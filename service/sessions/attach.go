package sessions

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/execsocket"
)

// getAttach connects a client with a WebSocket to a process that runs, or has ended: it gets the output from since on, and
// the end. What it sends is stdin. One client at a time is connected; with takeover another one leaves.
func (ss *Sessions) getAttach(w http.ResponseWriter, r *http.Request) error {
	p, err := ss.ownProcess(r)
	if err != nil {
		return err
	}
	since, err := sinceOf(r.URL.Query())
	if err != nil {
		return err
	}
	takeover, err := core.Flag(r.URL.Query(), "takeover")
	if err != nil {
		return err
	}
	if err := checkUpgrade(r); err != nil {
		return err
	}
	if err := checkSubprotocols(r); err != nil {
		return err
	}

	_, done, err := ss.Track(r)
	if err != nil {
		return err
	}
	defer done()

	a, err := p.attach(since, takeover)
	if err != nil {
		return err
	}
	leave := sync.OnceFunc(func() { p.leave(a) })
	defer leave()

	k := ss.accept(w, r)
	if k == nil {
		return nil
	}

	disconnect := k.connect(p.clientInput(k.ctx), func() {})
	defer disconnect()

	ctx, stop := ss.UntilStop(k.ctx) // a process ends when the service stops, and then its client hears of it
	defer stop()
	k.greet(execsocket.Started{PID: p.pid})
	k.follow(ctx, p, a, leave)
	return nil
}

// attachChunk is the most output in one message.
const attachChunk = 32 << 10

// follow sends the output of a process and its end, until the client leaves. Who hears of the end finds the process free for
// the next client.
func (k *socket) follow(ctx context.Context, p *process, a *attachment, leave func()) {
	for first := true; ; first = false {
		out, err := p.next(ctx, a, attachChunk)
		switch {
		case errors.Is(err, errTakenOver):
			k.close(websocket.StatusCode(execsocket.TakenOver), "taken over")
			return
		case err != nil && k.ctx.Err() == nil:
			select {
			case <-p.over: // it ends at the same time
				k.end(p.outcome())
			case <-k.ctx.Done():
			}
			return
		case err != nil:
			return
		}

		if first || out.Gap > 0 {
			k.event(execsocket.Event{Offset: &out.Offset, Gap: out.Gap})
		}
		for _, piece := range out.Pieces {
			channel := execsocket.Stdout
			if piece.Stream == api.ProcessStderr {
				channel = execsocket.Stderr
			}
			if k.send(channel, piece.Data) != nil {
				return // the client has left, or reads nothing
			}
		}
		if out.Ended {
			leave()
			k.end(p.outcome())
			return
		}
	}
}

// clientInput is what an attached client sends. Its stdin stays open for the next client.
func (p *process) clientInput(ctx context.Context) clientInput {
	to := clientInput{stdin: writerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe }), end: func() {},
		resize: func(size api.TTY) error {
			if p.ask.TTY == nil {
				return nil // kubectl sends one anyway
			}
			return ignoreEnd(sendTo(ctx, p, p.sizes, size))
		},
		signal: func(s api.Signal) error { return ignoreEnd(sendTo(ctx, p, p.signals, s)) }}
	if in := p.input; in != nil {
		to.end = in.end
		to.stdin = writerFunc(func(b []byte) (int, error) {
			n, err := in.write(ctx, append([]byte(nil), b...)) // the input keeps it
			if errors.Is(err, errInputEnded) {
				err = io.ErrClosedPipe
			}
			return n, err
		})
	}
	return to
}

// ignoreEnd makes no error of a process that has ended: its client hears of that.
func ignoreEnd(err error) error {
	if api.HasCode(err, api.CodeConflict) {
		return nil
	}
	return err
}
