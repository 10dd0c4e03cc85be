package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A socketClient is a client of GET /v1/sessions/{id}/exec.
type socketClient struct {
	t           *testing.T
	conn        *websocket.Conn
	ctx         context.Context
	subprotocol string
	shown       [4]strings.Builder // by channel; without a subprotocol all is in 1
}

// openSocket opens the WebSocket of an exec, or returns the status with which it was refused.
func openSocket(t *testing.T, s *harness.Service, key, path, subprotocol string, header ...string) (*socketClient, int) {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), harness.Patience())
	t.Cleanup(cancel)

	ask := &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + key}}}
	if subprotocol != "" {
		ask.Subprotocols = []string{subprotocol}
	}
	for i := 0; i+1 < len(header); i += 2 {
		ask.HTTPHeader.Set(header[i], header[i+1])
	}

	conn, res, err := websocket.Dial(ctx, strings.Replace(s.Url, "http", "ws", 1)+path, ask)
	if err != nil {
		if res == nil {
			t.Fatal(err)
		}
		return nil, res.StatusCode
	}
	t.Cleanup(func() { conn.CloseNow() })
	if conn.Subprotocol() != subprotocol {
		t.Fatalf("subprotocol %q; want %q", conn.Subprotocol(), subprotocol)
	}
	conn.SetReadLimit(1 << 20)
	return &socketClient{t: t, conn: conn, ctx: ctx, subprotocol: subprotocol}, res.StatusCode
}

func (c *socketClient) send(message string) {
	c.t.Helper()
	if err := c.conn.Write(c.ctx, websocket.MessageBinary, []byte(message)); err != nil {
		c.t.Fatal(err)
	}
}

// next reads a message. It returns false, with the reason of the close frame, when the server has closed.
func (c *socketClient) next() (reason string, more bool) {
	c.t.Helper()
	_, message, err := c.conn.Read(c.ctx)
	var closed websocket.CloseError
	switch {
	case errors.As(err, &closed):
		return fmt.Sprintf("%d %s", closed.Code, closed.Reason), false
	case err != nil:
		c.t.Fatalf("%v; shown so far: %q, %q", err, c.shown[1].String(), c.shown[2].String())
	case c.subprotocol == "":
		c.shown[1].Write(message)
	case message[0] >= 1 && message[0] <= 3:
		c.shown[message[0]].Write(message[1:])
	default:
		c.t.Fatalf("message %q", message)
	}
	return "", true
}

// wait reads until a text is shown.
func (c *socketClient) wait(text string) {
	c.t.Helper()
	for !strings.Contains(c.shown[1].String(), text) {
		if reason, more := c.next(); !more {
			c.t.Fatalf("closed (%s) before %q; shown: %q", reason, text, c.shown[1].String())
		}
	}
}

func (c *socketClient) end() (reason string) {
	c.t.Helper()
	for {
		if reason, more := c.next(); !more {
			return reason
		}
	}
}

// TTY-07, TTY-11: a terminal and a program whose stdin stays open, as kubectl, a page with xterm.js and websocat use them.
func TestExecSockets(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file)
	ann := s.WithKey(keys["ann"])
	id := newSession(ann, "course", "terminal")
	at := "/v1/sessions/" + id + "/exec?command=sh"

	t.Run("a terminal of kubectl", func(t *testing.T) {
		c, _ := openSocket(t, s, keys["ann"], at+"&tty=true&stdin=true&rows=33&cols=99", "v5.channel.k8s.io")
		c.send("\x00stty size\n")
		c.wait("33 99")
		c.send("\x04" + `{"Width":120,"Height":40}`)
		for !strings.Contains(c.shown[1].String(), "40 120") { // the size arrives on a channel of its own
			c.send("\x00stty size\n")
			c.next()
		}

		c.send("\x00exit 7\n")
		reason := c.end()
		var status struct {
			Status, Reason string
			Details        struct {
				Causes []struct{ Reason, Message string }
			}
		}
		if err := json.Unmarshal([]byte(c.shown[3].String()), &status); err != nil {
			t.Fatalf("status %q: %v", c.shown[3].String(), err)
		}
		if status.Reason != "NonZeroExitCode" || len(status.Details.Causes) != 1 || status.Details.Causes[0].Message != "7" ||
			!strings.HasPrefix(reason, "1000 ") {
			t.Errorf("status %+v, closed %q", status, reason)
		}
	})

	t.Run("a program of kubectl", func(t *testing.T) {
		script := "&stdin=true&command=-c&command=" + url.QueryEscape(`read a; echo $a; echo bad >&2; read b; printf "%s" "$b"; cat`)
		for _, subprotocol := range []string{"v5.channel.k8s.io", "v4.channel.k8s.io"} {
			c, _ := openSocket(t, s, keys["ann"], at+script, subprotocol)
			c.send("\x00hello\n")
			c.wait("hello")
			c.send("\x00rest\n")
			if c.wait("rest"); subprotocol == "v5.channel.k8s.io" {
				c.send("\xff\x00") // the end of stdin
				if c.end(); c.shown[2].String() != "bad\n" || !strings.Contains(c.shown[3].String(), `"Success"`) {
					t.Errorf("stderr %q, status %q", c.shown[2].String(), c.shown[3].String())
				}
			}
			if c.shown[1].String() != "hello\nrest" {
				t.Errorf("%s: stdout %q", subprotocol, c.shown[1].String())
			}
		}

		c, _ := openSocket(t, s, keys["ann"], at+"&command=-c&command=cat%3Becho+end", "v5.channel.k8s.io") // no -i: stdin is empty
		if c.end(); c.shown[1].String() != "end\n" {
			t.Errorf("stdout %q", c.shown[1].String())
		}
	})

	// kubectl cp sends 32 KiB and the channel, and who pastes into a page as much as there is.
	t.Run("large messages", func(t *testing.T) {
		script := "&stdin=true&command=-c&command=" + url.QueryEscape("head -c 1081344 | wc -c")
		for _, subprotocol := range []string{"v5.channel.k8s.io", ""} {
			c, _ := openSocket(t, s, keys["ann"], at+script, subprotocol)
			channel := strings.Repeat("\x00", min(len(subprotocol), 1))
			c.send(channel + strings.Repeat("x", 32<<10))
			c.send(channel + strings.Repeat("x", 1<<20))
			if reason := c.end(); !strings.HasPrefix(reason, "1000 ") || c.shown[1].String() != "1081344\n" {
				t.Errorf("%q: closed %q, %q; want all of the input", subprotocol, reason, c.shown[1].String())
			}
		}
	})

	t.Run("a terminal of a page", func(t *testing.T) {
		c, _ := openSocket(t, s, keys["ann"], at+"&tty=true", "")
		if err := c.conn.Write(c.ctx, websocket.MessageText, []byte("echo $((6*7)); stty size\n")); err != nil {
			t.Fatal(err)
		}
		c.wait("42\r\n24 80\r\n~ $ ") // at the prompt Ctrl-D ends the shell
		c.send("\x04")                // Ctrl-D
		if reason := c.end(); reason != "1000 exit code 0" {
			t.Errorf("closed: %q", reason)
		}
	})

	// The program ends with the connection, also one that reads nothing of what it is sent.
	t.Run("hang-up", func(t *testing.T) {
		c, _ := openSocket(t, s, keys["ann"], at+"&tty=true", "")
		c.send("sleep 8765\n")
		harness.WantVerdict(t, ann.ExecIn(id, "until ps -o args | grep -qx 'sleep 8765'; do sleep 0.05; done"), api.OK)
		c.conn.CloseNow()
		harness.WantVerdict(t, ann.ExecIn(id, "while ps -o args | grep -qx 'sleep 8765'; do sleep 0.05; done"), api.OK)

		script := url.QueryEscape("stty raw -echo; sleep 4321") // nothing else ends it: at a terminal its time is that of the session
		c, _ = openSocket(t, s, keys["ann"], at+"&tty=true&command=-c&command="+script, "")
		harness.WantVerdict(t, ann.ExecIn(id, "until ps -o args | grep -qx 'sleep 4321'; do sleep 0.05; done"), api.OK)
		for range 40 { // more than the pipe and the buffers of sockets hold: the last one waits
			ctx, cancel := context.WithTimeout(c.ctx, time.Second)
			err := c.conn.Write(ctx, websocket.MessageBinary, make([]byte, 1<<20))
			cancel()
			if errors.Is(err, context.DeadlineExceeded) {
				break
			}
			if err != nil {
				t.Fatalf("the service ends the connection while it waits: %v", err)
			}
		}
		c.conn.CloseNow()
		harness.WantVerdict(t, ann.ExecIn(id, "while ps -o args | grep -qx 'sleep 4321'; do sleep 0.05; done"), api.OK)
	})

	t.Run("refused", func(t *testing.T) {
		for _, tt := range []struct {
			name, key, path, subprotocol string
			header                       []string
			status                       int
		}{
			{"another key", keys["bob"], at, "", nil, 404},
			{"no key", "", at, "", nil, 401},
			{"a page of another origin (API-11)", keys["ann"], at, "", []string{"Origin", "https://evil.example"}, 403},
			{"an unknown subprotocol", keys["ann"], at, "base64.channel.k8s.io", nil, 400},
			{"no command", keys["ann"], "/v1/sessions/" + id + "/exec?tty=true", "", nil, 400},
			{"an unknown parameter", keys["ann"], at + "&user=root", "", nil, 400},
		} {
			if c, status := openSocket(t, s, tt.key, tt.path, tt.subprotocol, tt.header...); c != nil || status != tt.status {
				t.Errorf("%s: status %d; want %d", tt.name, status, tt.status)
			}
		}
		ann.Refused("GET", at, nil, 426, api.CodeBadRequest)

		// A message that means nothing ends the exec.
		c, _ := openSocket(t, s, keys["ann"], at+"&stdin=true", "v5.channel.k8s.io")
		c.send("\x02x")
		if reason := c.end(); !strings.HasPrefix(reason, "1008 bad-request: a message for channel 2") {
			t.Errorf("closed: %q", reason)
		}
	})

	t.Run("many", func(t *testing.T) {
		var all []*socketClient
		for range api.SessionResidents {
			c, _ := openSocket(t, s, keys["ann"], at+"&tty=true", "")
			c.send("echo $((20+3))\n")
			c.wait("23")
			all = append(all, c)
		}
		one, _ := openSocket(t, s, keys["ann"], at+"&tty=true", "")
		if reason := one.end(); !strings.HasPrefix(reason, "1013 session-busy: 16 terminals") {
			t.Errorf("one more: closed %q", reason)
		}

		// They hold no slot: runs and execs go on, and each terminal answers.
		harness.WantVerdict(t, ann.ExecIn(id, "true"), api.OK)
		var res api.Result
		ann.Call("POST", "/v1/runs", api.Run{Image: "tiny", Argv: []string{"sh", "-c", "exit 0"}}, 200, &res)
		for _, c := range all {
			c.send("exit 3\n")
			if reason := c.end(); reason != "1000 exit code 3" {
				t.Errorf("closed: %q", reason)
			}
		}
	})
}
