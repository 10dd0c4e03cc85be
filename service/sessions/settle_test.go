package sessions

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/execsocket"
)

// A program waits for the streams of kubectl, and no longer than it must.
func TestProgramsWaitForStreams(t *testing.T) {
	size := &api.TTY{Rows: 33, Cols: 99}
	for _, tt := range []struct {
		name, subprotocol string
		terminal          bool
		input, left       bool
		size              *api.TTY
		wait              time.Duration
		want              api.TTY
	}{
		{name: "nothing", subprotocol: execsocket.V5, wait: settleTime},
		{name: "input", subprotocol: execsocket.V5, input: true},
		{name: "a terminal", subprotocol: execsocket.V5, terminal: true, size: size, want: *size},
		{name: "a terminal, after input", subprotocol: execsocket.V5, terminal: true, input: true, size: size, want: *size},
		{name: "a terminal without a size", subprotocol: execsocket.V5, terminal: true, input: true, wait: settleTime},
		{name: "a size without a terminal", subprotocol: execsocket.V5, size: size},
		{name: "one that left", subprotocol: execsocket.V5, left: true},
		{name: "an older client", subprotocol: execsocket.V4},
		{name: "a page", subprotocol: execsocket.Plain, terminal: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			k := &socket{ctx: ctx, subprotocol: tt.subprotocol, heard: make(chan struct{})}
			sizes := make(chan api.TTY)
			if tt.input {
				k.hear()
				k.hear()
			}
			if tt.left {
				leave()
			}
			if tt.size != nil {
				go func() { sizes <- *tt.size }()
			}

			var terminal *api.TTY
			if tt.terminal {
				terminal = &api.TTY{}
			}
			began := time.Now()
			k.settle(terminal, sizes)
			if waited := time.Since(began); waited != tt.wait {
				t.Errorf("%s: waited for %s; want %s", tt.name, waited, tt.wait)
			}
			if terminal != nil && *terminal != tt.want {
				t.Errorf("%s: size %v; want %v", tt.name, *terminal, tt.want)
			}
		})
	}
}
