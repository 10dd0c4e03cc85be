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
	cancel := []byte{byte(api.FrameCancel), 0, 0, 0, 0}
	for _, tt := range []struct {
		name   string
		attach bool
		then   func(c *net.UnixConn) error // what the client does while its message is unread
		end    func(c *net.UnixConn) error
	}{
		{"reads late", false, nil, readAll},
		{"leaves", false, nil, (*net.UnixConn).Close},
		{"has a program with stdin, and reads late", true, nil, readAll},
		{"has a program with stdin, and leaves", true, nil, (*net.UnixConn).Close},
		{"closes its side", true, (*net.UnixConn).CloseWrite, (*net.UnixConn).Close},
		{"cancels", true, func(c *net.UnixConn) error { _, err := c.Write(cancel); return err }, (*net.UnixConn).Close},
	} {
		t.Run(tt.name, func(t *testing.T) {
			socket, _ := serve(t,
				agent.Config{MaxConns: 1, Runner: runner(func(_ context.Context, _ api.Run, s api.Streams, _ api.Caller) (api.Result, error) {
					r, w, err := os.Pipe()
					if err != nil {
						return api.Result{}, err
					}
					defer r.Close()
					if tt.attach {
						s.Attach(api.Attached{Stdin: w})
					} else {
						defer w.Close()
					}
					return api.Result{Verdict: api.OK}, s.Network([]*os.File{r})
				})})

			nc, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()

			io.WriteString(nc, post(`{"image":"a","argv":["b"]}`, upgrade))
			second := make(chan struct{})
			go func() { // waits for a connection
				defer close(second)
				if _, err := client.New(socket).Health(t.Context()); err != nil {
					t.Error(err)
				}
			}()

			if tt.then != nil {
				if err := tt.then(nc); err != nil {
					t.Error(err)
				}
			}

			select {
			case <-second:
				t.Error("a second connection is taken while the sockets are unread")
			case <-time.After(300 * time.Millisecond):
			}

			if err := tt.end(nc); err != nil {
				t.Error(err)
			}

			within(t, "the second connection", second)
		})
	}
}

// readAll reads until the agent closes the connection.
func readAll(c *net.UnixConn) error {
	_, err := io.ReadAll(c)
	return err
}
