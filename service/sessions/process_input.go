package sessions

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A processInput is stdin of a process: what one client after another sends is read in the order of its arrival.
type processInput struct {
	over <-chan struct{} // closed when the process has ended
	turn chan struct{}   // held by who writes

	chunks chan []byte
	ended  chan struct{}
	end    func() // closes ended
	rest   []byte // of the last chunk; used by Read alone
}

func newProcessInput(over <-chan struct{}) *processInput {
	ended := make(chan struct{})
	return &processInput{over: over, turn: make(chan struct{}, 1), chunks: make(chan []byte), ended: ended,
		end: sync.OnceFunc(func() { close(ended) })}
}

// Read returns what was written, and the end of file after the end.
func (in *processInput) Read(p []byte) (int, error) {
	if len(in.rest) == 0 {
		select {
		case in.rest = <-in.chunks:
		case <-in.ended:
			return 0, io.EOF
		case <-in.over:
			return 0, io.EOF
		}
	}
	n := copy(p, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}

// inputChunk is how much is handed over at once. So much more than its window may be on the way to a program.
const inputChunk = 32 << 10

// write writes b when it is its turn, and reports how much of it was taken. The input keeps what it takes.
func (in *processInput) write(ctx context.Context, b []byte) (taken int, err error) {
	select {
	case in.turn <- struct{}{}:
		defer func() { <-in.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-in.over:
		return 0, errInputEnded
	}

	for taken < len(b) {
		chunk := b[taken:min(len(b), taken+inputChunk)]
		select {
		case <-in.ended: // looked at first: a chunk after the end would be lost
			return taken, errInputEnded
		default:
		}
		select {
		case in.chunks <- chunk:
			taken += len(chunk)
		case <-in.ended:
			return taken, errInputEnded
		case <-in.over:
			return taken, errInputEnded
		case <-ctx.Done():
			return taken, ctx.Err()
		}
	}
	return taken, nil
}

var errInputEnded = api.Refuse(api.CodeConflict, "the stdin of this process has ended: nothing more can be sent")

// inputWait is how long a request with stdin waits for the program to take it.
const inputWait = time.Minute
