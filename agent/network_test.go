package agent_test

import (
	"context"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// NET-15. A client that does not read keeps the sockets of its run's network, and so the namespace, in
// the message. So its connection stays one of those that the agent has at a time; after it has read,
// or left, the agent closes it.
func TestUnreadSocketsKeepTheConnection(t *testing.T) {
	for _, reads := range []bool{true, false} {
		socket, _ := serve(t, agent.Config{MaxConns: 1, Runner: runner(func(_ context.Context, _ api.Run, s api.Streams, _ api.Caller) (api.Result, error) {
			r, w, err := os.Pipe()
			if err != nil {
				return api.Result{}, err
			}
			defer r.Close()
			defer w.Close()
			return api.Result{Verdict: api.OK}, s.Network([]*os.File{r, w})
		})})
		nc, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(nc, post(`{"image":"a","argv":["b"]}`, upgrade))
		second := make(chan struct{})
		go func() { // waits for a connection
			defer close(second)
			if _, err := client.New(socket).Health(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		select {
		case <-second:
			t.Error("a second connection is taken while the sockets are unread")
		case <-time.After(300 * time.Millisecond):
		}
		if reads {
			if _, err := io.ReadAll(nc); err != nil { // until the agent closes
				t.Error(err)
			}
		}
		nc.Close()
		within(t, 5*time.Second, "the second connection", second)
	}
}
