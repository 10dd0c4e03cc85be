package client

import (
	"io"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// A window is how much more of one input the agent takes at the moment (api.Window).
type window struct {
	mu      sync.Mutex
	changed sync.Cond
	free    int  // guarded by mu; bytes
	over    bool // guarded by mu; nothing more is sent
}

func newWindow() *window {
	w := &window{free: api.Window}
	w.changed.L = &w.mu
	return w
}

// take waits until there is room, and takes at most n bytes of it; 0: nothing more is sent. A nil window has room for all.
func (w *window) take(n int) int {
	if w == nil {
		return n
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.free == 0 && !w.over {
		w.changed.Wait()
	}
	if w.over {
		return 0
	}
	n = min(n, w.free)
	w.free -= n
	return n
}

// give notes that the agent has taken n bytes.
func (w *window) give(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free += n
	w.changed.Broadcast()
}

// end wakes who waits for room.
func (w *window) end() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.changed.Broadcast()
}

// windows are those of a resident; without one, both are nil.
type windows struct{ stdin, control *window }

func windowsOf(resident bool) windows {
	if !resident {
		return windows{}
	}
	return windows{newWindow(), newWindow()}
}

func (w windows) end() {
	w.stdin.end()
	w.control.end()
}

// taken reads a frame that says what was taken.
func (w windows) taken(payload []byte) error {
	t, n, err := api.ReadTaken(payload)
	if err != nil || w.stdin == nil {
		return err
	}
	if t == api.FrameControl {
		w.control.give(n)
	} else {
		w.stdin.give(n)
	}
	return nil
}

// sendInput sends frames of type t until in ends or the connection fails, and then the frame that ends the input. If a read
// fails, the program gets end of file.
func sendInput(to io.Writer, in io.Reader, t, end api.FrameType, room *window) {
	buf := make([]byte, api.FrameHeader+api.FrameMax)
	for in != nil {
		n, err := in.Read(buf[api.FrameHeader:])
		for sent := 0; sent < n; {
			part := room.take(n - sent)
			if part == 0 {
				return
			}

			// The header goes in front of the part: over what was sent of this buffer before.
			frame := buf[sent : sent+api.FrameHeader+part]
			api.PutFrameHeader(frame, t, part)
			if _, werr := to.Write(frame); werr != nil {
				return // the answer has arrived, or receive gets the error
			}
			sent += part
		}
		if err != nil {
			break
		}
	}

	api.PutFrameHeader(buf, end, 0)
	_, _ = to.Write(buf[:api.FrameHeader])
}
