package service

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// execThatReads is an exec of an agent that ends when its program has read something, or its client leaves. It sends
// what ended it to ends.
func execThatReads(t *testing.T, ends chan<- string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()

		frame := func(k api.FrameType, payload string) {
			head := make([]byte, api.FrameHeader)
			api.PutFrameHeader(head, k, len(payload))
			_, _ = io.WriteString(c, string(head)+payload)
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: brig-stream/1\r\n\r\n")
		frame(api.FrameAdmitted, "")

		k, _, err := api.ReadFrame(rw, make([]byte, api.FrameMax))
		if err != nil || k != api.FrameStdin {
			frame(api.FrameResult, `{"verdict":"canceled"}`)
			ends <- "left"
			return
		}
		frame(api.FrameResult, `{"verdict":"ok"}`)
		ends <- "read"
	}
}

// clientFrame is a frame of a client that declares a length, whatever follows (RFC 6455, 5.2). Its mask changes nothing.
func clientFrame(opcode byte, declared uint64, payload string) string {
	head := []byte{0x80 | opcode, 0x80 | 127}
	head = binary.BigEndian.AppendUint64(head, declared)
	return string(append(head, 0, 0, 0, 0)) + payload
}

// A client that begins a frame and does not go on with it, in whatever state of its exec, keeps nothing: neither the
// exec nor what the service has for its connection (TTY-11).
func TestExecSocketsOfStalledClients(t *testing.T) {
	const never = 1 << 60
	for name, tt := range map[string]struct{ subprotocol, sends, ends string }{
		"after the program's last input":    {"", clientFrame(2, 1, "x") + clientFrame(2, never, ""), "read"},
		"in the program's last input":       {"", clientFrame(2, never, strings.Repeat("x", 64<<10)), "read"},
		"in a message that means nothing":   {"v5.channel.k8s.io", clientFrame(2, never, "\x02"), "left"},
		"after one that means nothing":      {"v5.channel.k8s.io", clientFrame(2, 1, "\x02") + clientFrame(2, never, ""), "left"},
		"in a frame that means nothing":     {"v5.channel.k8s.io", clientFrame(7, never, ""), "left"},
		"in a ping that is too long":        {"", clientFrame(9, never, ""), "left"},
		"in a close frame that is too long": {"", clientFrame(8, never, ""), "left"},
		"in the end of stdin":               {"v5.channel.k8s.io", clientFrame(2, never, "\xff\x00"), "left"},
		"after the end of stdin":            {"v5.channel.k8s.io", clientFrame(2, 3, "\xff\x00\x82") + clientFrame(2, never, ""), "left"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ends := make(chan string, 1)
			mux := new(fakeSessions).mux()
			mux.HandleFunc("POST /v1/sessions/{id}/exec", execThatReads(t, ends))
			web := serveFake(t, mux, nil)
			if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
				t.Fatal(s)
			}

			c, err := net.Dial("tcp", strings.TrimPrefix(web.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ask := "GET /v1/sessions/s1/exec?command=cat&stdin=true HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n" +
				"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
			if tt.subprotocol != "" {
				ask += "Sec-WebSocket-Protocol: " + tt.subprotocol + "\r\n"
			}
			if _, err := io.WriteString(c, ask+"\r\n"); err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(c)
			res, err := http.ReadResponse(in, nil)
			if err != nil || res.StatusCode != 101 {
				t.Fatalf("%+v, %v", res, err)
			}
			if _, err := io.WriteString(c, tt.sends); err != nil {
				t.Fatal(err)
			}

			g := web.Config.Handler.(*Gateway)
			left := make(chan struct{})
			go func() { g.core.Wait(); close(left) }() // for what was admitted: the exec
			select {
			case <-left:
			case <-time.After(time.Minute):
				t.Fatal("the service still has the exec of a client that stalls")
			}
			end := "left" // also before the program began: it waits for a client of Kubernetes
			select {
			case end = <-ends:
			case <-time.After(map[string]time.Duration{"read": time.Minute}[tt.ends]):
			}
			if end != tt.ends {
				t.Errorf("the exec ended by %q; want %q", end, tt.ends)
			}
			if _, err := io.Copy(io.Discard, in); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("the connection is not closed: %v", err)
			}
		})
	}
}

// A client at a terminal reads why it ended when the service stops.
func TestExecSocketsOfAStoppingService(t *testing.T) {
	ends := make(chan string, 1)
	mux := new(fakeSessions).mux()
	mux.HandleFunc("POST /v1/sessions/{id}/exec", execThatReads(t, ends))
	g := serveFake(t, mux, func(c *Config) { c.Grace = time.Millisecond }).Config.Handler.(*Gateway)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, ln) }()

	url := "http://" + ln.Addr().String()
	res, err := http.Post(url+"/v1/sessions", "application/json", strings.NewReader(made))
	if err != nil || res.StatusCode != 201 {
		t.Fatalf("%+v, %v", res, err)
	}
	res.Body.Close()
	conn, res, err := websocket.Dial(t.Context(), url+"/v1/sessions/s1/exec?command=sh&tty=true", nil)
	if err != nil {
		t.Fatalf("%+v, %v", res, err)
	}
	defer conn.CloseNow()
	if _, first, err := conn.Read(t.Context()); err != nil || len(first) > 0 {
		t.Fatalf("%q, %v; want the empty message of the begin", first, err)
	}

	stop()
	_, _, err = conn.Read(t.Context())
	var closed websocket.CloseError
	if !errors.As(err, &closed) || !strings.Contains(closed.Reason, "stop") {
		t.Errorf("the connection ended with %v; want a close frame that says that the service stops", err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// The terminals of one key, which are open for hours, do not keep out those of others, in however many sessions they are.
func TestResidentsLeaveRoomForOtherKeys(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	mux := new(fakeSessions).mux()
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) {
		say(w, 200, api.Health{Slots: 4, SessionsMax: 8, MemoryMax: int64(8 * api.GiB), ResidentsMax: 4})
	})
	mux.HandleFunc("POST /v1/sessions/{id}/exec", execThatReads(t, make(chan string, 8)))
	web := serveFake(t, mux, func(c *Config) { c.Keys = keys })
	for i, key := range []string{"ann", "ann", "bob"} {
		session := fmt.Sprintf(`{"image":"tiny","labels":{"task":"%d"}}`, i)
		if s := send(t, web, "POST", "/v1/sessions", session, nil, as[key]...); s != 201 {
			t.Fatal(s)
		}
	}

	// open opens a terminal, which answers, or returns why it is refused.
	open := func(key, session string) (reason string, opened *websocket.Conn) {
		header := http.Header{}
		header.Set(as[key][0], as[key][1])
		conn, res, err := websocket.Dial(t.Context(), web.URL+"/v1/sessions/"+session+"/exec?command=sh&tty=true",
			&websocket.DialOptions{HTTPHeader: header})
		if err != nil {
			t.Fatalf("%+v, %v", res, err)
		}
		t.Cleanup(func() { conn.CloseNow() })
		_, _, err = conn.Read(t.Context())
		var closed websocket.CloseError
		if errors.As(err, &closed) {
			return closed.Reason, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		return "", conn
	}

	var last *websocket.Conn
	for _, tt := range []struct{ key, session, refused string }{
		{"ann", "s1", ""}, {"ann", "s2", ""}, {"ann", "s2", "session-busy: 2 programs of this key"}, {"bob", "s3", ""},
	} {
		reason, conn := open(tt.key, tt.session)
		if (reason == "") != (tt.refused == "") || !strings.HasPrefix(reason, tt.refused) {
			t.Errorf("%s: %q; want %q", tt.key, reason, tt.refused)
		}
		last = conn
	}

	if err := last.Write(t.Context(), websocket.MessageText, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := last.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("bob's terminal ended with %v", err)
	}
	if reason, _ := open("bob", "s3"); reason != "" {
		t.Errorf("when one has ended: %s", reason)
	}
}
