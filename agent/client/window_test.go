package client

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/brig-sandbox/brig/api"
)

// What is sent arrives whole and in order, whatever the reads and the window are, and never more than the window is on the
// way.
func TestSendInput(t *testing.T) {
	content := strings.Repeat("0123456789abcdef", 20_000)
	for name, tt := range map[string]struct {
		in     io.Reader
		window bool
	}{
		"no window":             {strings.NewReader(content), false},
		"a window":              {strings.NewReader(content), true},
		"a window, small reads": {iotest.HalfReader(strings.NewReader(content)), true},
	} {
		var room *window
		if tt.window {
			room = newWindow()
		}

		in, out := io.Pipe()
		var sending sync.WaitGroup
		sending.Go(func() {
			sendInput(out, tt.in, api.FrameStdin, api.FrameStdinEnd, room)
			out.Close()
		})

		var got bytes.Buffer
		buf := make([]byte, api.FrameMax)
		for step, held := 1, 0; ; step++ {
			kind, payload, err := api.ReadFrame(in, buf)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if kind == api.FrameStdinEnd {
				break
			}
			got.Write(payload)
			if held += len(payload); held > api.Window && room != nil {
				t.Fatalf("%s: %d bytes are on the way", name, held)
			}
			if room != nil && (step%3 == 0 || held == api.Window) { // the rest later
				part := min(held, 1000*step)
				room.give(part)
				held -= part
			}
		}
		sending.Wait()
		if got.String() != content {
			t.Errorf("%s: %d bytes arrived, of %d, or in another order", name, got.Len(), len(content))
		}
	}
}

// Who waits for room is woken by the end.
func TestWindowEnds(t *testing.T) {
	w := newWindow()
	if n := w.take(2 * api.Window); n != api.Window {
		t.Fatalf("took %d", n)
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if n := w.take(1); n != 0 {
			t.Errorf("took %d after the end", n)
		}
	})
	w.end()
	waiting.Wait()
}
