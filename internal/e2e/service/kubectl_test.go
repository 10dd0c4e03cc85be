package service

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// What kubectl 1.32.3 sent, recorded byte by byte: %s is the session. Its frames are masked.
const (
	kubectlExec = "GET /k8s/api/v1/namespaces/course/pods/%s/exec?command=sh&command=-c&" +
		"command=cat%%3B+echo+err+%%3E%%262%%3B+exit+7&container=box&stderr=true&stdin=true&stdout=true HTTP/1.1\r\n" +
		"Host: 127.0.0.1:27090\r\nUser-Agent: kubectl/v1.32.3 (linux/amd64) kubernetes/32cc146\r\nConnection: Upgrade\r\n" +
		"Kubectl-Command: kubectl exec\r\nKubectl-Session: 4b2a144b-9bc1-4ee5-abaf-051b0fde8c79\r\n" +
		"Sec-WebSocket-Key: ldLhW5M/XpgoaDooFTL+9A==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n" +
		"Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n\r\n"
	kubectlInput    = "\x82\x85\xec\x99Os\xec\xf8E\x11\xe6"
	kubectlInputEnd = "\x82\x82\x95\xc4\x7fvj\xc4"

	kubectlTerminal = "GET /k8s/api/v1/namespaces/course/pods/%s/exec?command=sh&command=-c&" +
		"command=stty+size%%3B+cat&container=box&stdin=true&stdout=true&tty=true HTTP/1.1\r\n" +
		"Host: 127.0.0.1:27090\r\nUser-Agent: kubectl/v1.32.3 (linux/amd64) kubernetes/32cc146\r\nConnection: Upgrade\r\n" +
		"Kubectl-Command: kubectl exec\r\nKubectl-Session: 3a5bc0d6-139e-43eb-a142-1bad72dd577c\r\n" +
		"Sec-WebSocket-Key: xTKYC/cx+ggQrDQXo8lHPw==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n" +
		"Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n\r\n"
	kubectlSize = "\x82\x9a\xad(\xde\xc5\xa9S\xfc\x92\xc4L\xaa\xad\x8f\x12\xe7\xfc\x81\n\x96\xa0\xc4O\xb6\xb1\x8f\x12\xed\xf6\xd0\""
	kubectlPing = "\x89\x80\x01\x02\x03\x04"         // after 5 s, and then every 5 s
	endOfInput  = "\x82\x82\x00\x00\x00\x00\x00\x04" // Ctrl-D
)

// A recordedClient sends what was recorded of a client.
type recordedClient struct {
	t     *testing.T
	conn  net.Conn
	r     *bufio.Reader
	shown [4]strings.Builder // by channel
	pongs int
}

func openRecorded(t *testing.T, s *harness.Service, request string) *recordedClient {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.Url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(harness.Patience())
	c := &recordedClient{t: t, conn: conn, r: bufio.NewReader(conn)}
	c.send(request)

	head := ""
	for !strings.HasSuffix(head, "\r\n\r\n") {
		line, err := c.r.ReadString('\n')
		if err != nil {
			t.Fatalf("%q: %v", head, err)
		}
		head += line
	}
	if !strings.HasPrefix(head, "HTTP/1.1 101 ") || !strings.Contains(head, "\r\nSec-Websocket-Protocol: v5.channel.k8s.io\r\n") {
		t.Fatalf("%s", head)
	}
	return c
}

func (c *recordedClient) send(bytes string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, bytes); err != nil {
		c.t.Fatal(err)
	}
}

// all is what was shown, by channel.
func (c *recordedClient) all() (texts []string) {
	for i := range c.shown {
		texts = append(texts, c.shown[i].String())
	}
	return texts
}

// next reads a frame. It returns false, with what it says, when it is the one that closes.
func (c *recordedClient) next() (closed string, more bool) {
	c.t.Helper()
	var head [2]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		c.t.Fatalf("%v; shown: %q", err, c.all())
	}
	length := uint64(head[1])
	if length == 126 {
		var long [2]byte
		_, _ = io.ReadFull(c.r, long[:]) // the next read fails too
		length = uint64(binary.BigEndian.Uint16(long[:]))
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(c.r, payload); err != nil || length > 1<<16 {
		c.t.Fatalf("frame % x of %d bytes: %v", head, length, err)
	}

	switch head[0] {
	case 0x82: // kubectl reads binary messages alone
		c.shown[payload[0]].Write(payload[1:])
	case 0x89: // a ping of the service
	case 0x8a:
		c.pongs++
	case 0x88:
		return fmt.Sprintf("%d %s", binary.BigEndian.Uint16(payload), payload[2:]), false
	default:
		c.t.Fatalf("frame % x %q", head, payload)
	}
	return "", true
}

func (c *recordedClient) end() (closed string) {
	c.t.Helper()
	for {
		if closed, more := c.next(); !more {
			return closed
		}
	}
}

// The exchanges of kubectl exec, byte by byte, so that this holds without kubectl. .ci/foreign/kubectl runs kubectl itself.
func TestKubectl(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a, "--dialect", "k8s")
	id := newSession(s, "course", "ann")

	t.Run("a program", func(t *testing.T) {
		for _, name := range []string{id, "ann"} { // by its id, and by its task
			c := openRecorded(t, s, fmt.Sprintf(kubectlExec, name))
			c.send(kubectlInput + kubectlInputEnd)
			closed := c.end()
			const status = `{"metadata":{},"status":"Failure","message":"exit code 7","reason":"NonZeroExitCode",` +
				`"details":{"causes":[{"reason":"ExitCode","message":"7"}]}}`
			if c.shown[1].String() != "a\nb\n" || c.shown[2].String() != "err\n" || c.shown[3].String() != status || closed != "1000 exit code 7" {
				t.Errorf("%q, closed %q", c.all(), closed)
			}
		}
	})

	t.Run("a terminal", func(t *testing.T) {
		c := openRecorded(t, s, fmt.Sprintf(kubectlTerminal, id)+kubectlSize) // the program begins with this size
		c.send(kubectlPing)
		for c.pongs == 0 || c.shown[1].Len() == 0 {
			c.next()
		}
		c.send(endOfInput)
		if closed := c.end(); c.shown[1].String() != "33 99\r\n" || c.shown[2].Len() != 0 ||
			c.shown[3].String() != `{"metadata":{},"status":"Success"}` || closed != "1000 exit code 0" {
			t.Errorf("%q, closed %q", c.all(), closed)
		}
	})

	// It shows no more of a status than the exit code, so the cause is in what it shows.
	t.Run("a limit", func(t *testing.T) {
		const at = "/k8s/api/v1/namespaces/default/pods/%s/exec?command=sh&command=-c&command="
		yes := fmt.Sprintf(at, id) + "yes"
		c, _ := openSocket(t, s, "", yes, "v5.channel.k8s.io")
		if c.end(); !strings.HasPrefix(c.shown[2].String(), "brig: output-limit: it wrote more than ") ||
			!strings.Contains(c.shown[3].String(), `"message":"153"`) {
			t.Errorf("stderr %q, status %q", c.shown[2].String(), c.shown[3].String())
		}

		c, _ = openSocket(t, s, "", yes+"&stderr=false", "v5.channel.k8s.io")
		if c.end(); c.shown[2].Len() != 0 {
			t.Errorf("stderr %q", c.shown[2].String())
		}

		c, _ = openSocket(t, s, "", fmt.Sprintf(at, id)+"cat&tty=true&stdin=true", "v5.channel.k8s.io") // it has no limit but the session's
		c.send("\x00there\n")
		c.wait("there")
		s.Call("DELETE", "/v1/sessions/"+id, nil, 204, nil)
		if c.end(); c.shown[2].Len() != 0 || !strings.Contains(c.shown[1].String(), "\r\nbrig: canceled: the session has ended: ") {
			t.Errorf("stderr %q, terminal %q", c.shown[2].String(), c.shown[1].String())
		}
	})
}

// A client may send any message, however long: kubectl cp sends 32 KiB and one byte.
func TestALongMessage(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	id := newSession(s, "course", "long")
	at := "/v1/sessions/" + id + "/exec?command=wc&command=-c&stdin=true"
	for _, length := range []int{32 << 10, 32<<10 + 1, 3 << 20} {
		c, _ := openSocket(t, s, "", at, "v5.channel.k8s.io")
		c.send("\x00" + strings.Repeat("x", length))
		c.send("\xff\x00")
		if reason := c.end(); strings.TrimSpace(c.shown[1].String()) != fmt.Sprint(length) || reason != "1000 exit code 0" {
			t.Errorf("%d bytes: %q, closed %q", length, c.shown[1].String(), reason)
		}
	}

	// A page with xterm.js sends texts, and what is pasted is one.
	c, _ := openSocket(t, s, "", "/v1/sessions/"+id+"/exec?command=cat", "")
	long := strings.Repeat("é", 40_000) + "\n"
	ctx, cancel := context.WithTimeout(c.ctx, time.Minute)
	defer cancel()
	if err := c.conn.Write(ctx, websocket.MessageText, []byte(long)); err != nil {
		t.Fatal(err)
	}
	for c.shown[1].Len() < len(long) {
		if reason, more := c.next(); !more {
			t.Fatalf("closed %q after %d bytes", reason, c.shown[1].Len())
		}
	}
	if c.shown[1].String() != long {
		t.Errorf("%d bytes, others than were sent", c.shown[1].Len())
	}
	c.conn.CloseNow()
	harness.WantVerdict(t, s.ExecIn(id, "true"), api.OK)
}
