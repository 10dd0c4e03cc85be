package agent_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// dial opens a connection and writes the text.
func dial(t *testing.T, socket, text string) *net.UnixConn {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c.(*net.UnixConn)
}

// paused is an agent whose programs run until the test answers for them or they are canceled.
type paused struct {
	began, answer, canceled chan struct{}
	closed                  <-chan struct{} // a client has closed its sending side
}

func (p paused) execute(ctx context.Context, _ api.Run, _ api.Streams, _ api.Caller) (api.Result, error) {
	p.began <- struct{}{}
	select {
	case <-p.answer:
		return api.Result{Verdict: api.OK, Stage: api.StageRun, Stdout: api.Bytes("its answer")}, nil
	case <-ctx.Done():
		p.canceled <- struct{}{}
		return api.Result{Verdict: api.Canceled, Stage: api.StageRun}, nil
	}
}

// servePaused starts a paused agent, and returns it with its socket.
func servePaused(t *testing.T) (paused, string) {
	t.Helper()
	p := paused{began: make(chan struct{}, 1), answer: make(chan struct{}), canceled: make(chan struct{}, 1)}
	o := &one{t: t, files: map[string][]byte{}, run: p.execute}
	socket, _ := serveOn(t, agent.Config{Runner: runner(p.execute), Sessions: o},
		func(ln net.Listener) net.Listener {
			ln, p.closed = testenv.HalfClosed(ln)
			return ln
		})
	return p, socket
}

// waitingRequests are those whose answer waits for a program, by path.
var waitingRequests = map[string]string{
	"/v1/runs":            `{"image":"tiny","argv":["true"]}`,
	"/v1/sessions/s/exec": `{"argv":["true"]}`,
}

// A client may close its sending side after its request, as nc -N does. net/http takes it for one that has left.
func TestAHalfClosedClientGetsItsAnswer(t *testing.T) {
	p, socket := servePaused(t)
	for path, body := range waitingRequests {
		for form, head := range map[string]string{"HTTP/1.1": "HTTP/1.1", "HTTP/1.0": "HTTP/1.0",
			"100 Continue": "HTTP/1.1\r\nExpect: 100-continue", "a pipeline of two": "HTTP/1.1"} {
			t.Run(path+"/"+form, func(t *testing.T) {
				head := fmt.Sprintf("POST %s %s\r\nHost: x\r\nContent-Length: %d\r\n\r\n", path, head, len(body))
				expect, many := form == "100 Continue", 1
				if form == "a pipeline of two" {
					many = 2
				}

				text := strings.Repeat(head+body, many)
				if expect {
					text = head
				}
				c := dial(t, socket, text)
				in := bufio.NewReader(c)
				if expect {
					res, err := http.ReadResponse(in, nil)
					if err != nil || res.StatusCode != http.StatusContinue {
						t.Fatal(res, err)
					}
					if _, err := io.WriteString(c, body); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.CloseWrite(); err != nil {
					t.Fatal(err)
				}

				<-p.closed
				for range many {
					<-p.began
					select {
					case p.answer <- struct{}{}:
					case <-p.canceled:
						t.Error("its run was canceled")
					}
					res, err := http.ReadResponse(in, nil)
					if err != nil {
						t.Fatal(err)
					}
					text, err := io.ReadAll(res.Body)
					if err != nil || res.StatusCode != 200 || !strings.Contains(string(text), "its answer") {
						t.Errorf("%d %q %v", res.StatusCode, text, err)
					}
				}
				if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
					t.Errorf("after the answer: %q, %v", rest, err)
				}
			})
		}
	}
}

// A client that has left ends its run. In a stream, it cancels its run when it closes its sending side.
func TestAClientThatHasLeftEndsItsRun(t *testing.T) {
	p, socket := servePaused(t)
	for path, body := range waitingRequests {
		for how, tt := range map[string]struct {
			proto, header string
			leave         func(*net.UnixConn) error
		}{
			"at once":                {"HTTP/1.1", "", (*net.UnixConn).Close},
			"at once, HTTP/1.0":      {"HTTP/1.0", "", (*net.UnixConn).Close},
			"after its sending side": {"HTTP/1.1", "", func(c *net.UnixConn) error { _ = c.CloseWrite(); <-p.closed; return c.Close() }},
			"a stream":               {"HTTP/1.1", upgrade, (*net.UnixConn).Close},
			"a stream, half-closed":  {"HTTP/1.1", upgrade, (*net.UnixConn).CloseWrite},
		} {
			t.Run(path+"/"+how, func(t *testing.T) {
				c := dial(t, socket, fmt.Sprintf("POST %s %s\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", path, tt.proto, tt.header,
					len(body), body))
				<-p.began
				if err := tt.leave(c); err != nil {
					t.Fatal(err)
				}
				<-p.canceled
			})
		}
	}
}
