package service

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/connlimit"
	"github.com/brig-sandbox/brig/service/core"
)

// listenFake is serveFake for tests of connections. It returns the address, a client that makes a
// new connection for each request, and a server without the connection limits.
func listenFake(t *testing.T, mux *http.ServeMux, wrap func(net.Listener) net.Listener,
	change func(*Config)) (string, *http.Client, *httptest.Server) {
	t.Helper()
	web := serveFake(t, mux, change)
	g := web.Config.Handler.(*Gateway)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	at := ln.Addr().String()
	if wrap != nil {
		ln = wrap(ln)
	}

	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil && !strings.Contains(err.Error(), "deadline") {
			t.Error(err)
		}
	})

	return at, &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}, web
}

// requestStatus returns the status of a request; zero if it fails.
func requestStatus(t *testing.T, c *http.Client, method, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(`{"image":"tiny","argv":["true"]}`))
	if err != nil {
		t.Fatal(err)
	}

	req.Header.Set("Content-Type", "application/json")
	res, err := c.Do(req)
	if err != nil {
		t.Log(err)
		return 0
	}
	defer res.Body.Close()

	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// oneTooMany runs a program on a connection over the limit, and requires the error for that.
func oneTooMany(t *testing.T, c *http.Client, at string) {
	t.Helper()
	res, err := c.Post("http://"+at+"/v1/runs", "application/json", strings.NewReader(simple))
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()

	var p api.Problem
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil || res.StatusCode != 503 || p.Status != 503 || p.Code != api.CodeTooManyConns ||
		!p.RetrySafe || p.RetryAfter == 0 {
		t.Errorf("one too many: %d, %+v, %v; want 503, %s", res.StatusCode, p, err, api.CodeTooManyConns)
	}
	if h := res.Header; h.Get("Retry-After") != "1" || !res.Close {
		t.Errorf("one too many: Retry-After %q, closed afterwards %v", h.Get("Retry-After"), res.Close)
	}
}

// dial opens a connection and writes the beginning of a request.
func dial(t *testing.T, at, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

func runsOK() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Result{Verdict: api.OK}) })
	return mux
}

// API-02: connections on which nothing, or hardly anything, happens keep no other client out.
func TestIdleConnectionsBlockNoClient(t *testing.T) {
	for name, begin := range map[string]string{
		"nothing is sent":           "",
		"a header without an end":   "GET /health HTTP/1.1\r\nHost: localhost\r\nX: ",
		"one request, and no other": "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			at, c, _ := listenFake(t, runsOK(), nil, func(c *Config) { c.MaxConns = 8 })
			for range 64 {
				dial(t, at, begin)
			}
			for range 3 {
				if s := requestStatus(t, c, "GET", "http://"+at+"/health/live"); s != 200 {
					t.Errorf("health: %d", s)
				}
				if s := requestStatus(t, c, "POST", "http://"+at+"/v1/runs"); s != 200 {
					t.Errorf("a run: %d", s)
				}
			}
		})
	}
}

// stuck returns an agent that does not answer requests before the end of the test.
func stuck(t *testing.T) (mux *http.ServeMux, begun *atomic.Int64, end func()) {
	mux, begun = http.NewServeMux(), new(atomic.Int64)
	over := make(chan struct{})
	mux.HandleFunc("GET /v1/sessions/{id}", func(w http.ResponseWriter, r *http.Request) {
		begun.Add(1)
		<-over
		say(w, 200, idleSession("s1"))
	})
	mux.HandleFunc("POST /v1/sessions", func(w http.ResponseWriter, r *http.Request) { say(w, 201, idleSession("s1")) })
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Result{Verdict: api.OK}) })
	return mux, begun, func() { close(over) }
}

const askSession = "GET /v1/sessions/s1 HTTP/1.1\r\nHost: localhost\r\n\r\n"

func waitFor(t *testing.T, n *atomic.Int64, want int64) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); n.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d requests are being answered", n.Load(), want)
		}
	}
}

// API-02: when every connection is in use, health checks are answered, and other requests get an
// error with the reason.
func TestHealthIsAnsweredWhenConnectionsAreFull(t *testing.T) {
	mux, begun, end := stuck(t)
	at, c, web := listenFake(t, mux, nil, func(c *Config) { c.MaxConns = 4 })
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}

	var busy []net.Conn
	for range 4 {
		busy = append(busy, dial(t, at, askSession))
	}

	waitFor(t, begun, 4)
	for range 2 * connlimit.Overflow { // they use the connections over the limit, and lose them again
		dial(t, at, "GET /")
	}

	for _, path := range []string{"/health", "/health/live", "/health/ready"} {
		if s := requestStatus(t, c, "GET", "http://"+at+path); s != 200 {
			t.Errorf("%s: %d", path, s)
		}
	}

	oneTooMany(t, c, at)
	end()
	for _, b := range busy {
		if res, err := http.ReadResponse(bufio.NewReader(b), nil); err != nil || res.StatusCode != 200 {
			t.Errorf("one that was in use: %v, %v", res, err)
		}
	}

	waitUntil(t, "a run afterwards", func() bool { return requestStatus(t, c, "POST", "http://"+at+"/v1/runs") == 200 })
}

// from gives connections the remote address in their first line.
type from struct{ net.Listener }

type farConn struct {
	net.Conn
	at net.Addr
}

func (c farConn) RemoteAddr() net.Addr { return c.at }

func (l from) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}

	var last byte
	var b [1]byte
	for b[0] != '\n' { // the address has one digit
		last = b[0]
		if _, err := io.ReadFull(c, b[:]); err != nil {
			return nil, err
		}
	}

	return farConn{c, &net.TCPAddr{IP: net.IPv4(192, 0, 2, last), Port: 1}}, nil
}

// API-02: one address cannot take all connections, whatever it does with them.
func TestConnectionsOfAnAddressAreBounded(t *testing.T) {
	mux, begun, end := stuck(t)
	at, c, web := listenFake(t, mux, func(ln net.Listener) net.Listener { return from{ln} },
		func(c *Config) { c.MaxConns, c.MaxConnsPerAddr = 16, 3 })
	as := func(who string) *http.Client {
		one := *c
		one.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, at string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, at)
			if err == nil {
				_, err = fmt.Fprintln(c, who)
			}
			return c, err
		}}
		return &one
	}

	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}

	for range 3 {
		dial(t, at, "1\n"+askSession)
	}

	waitFor(t, begun, 3)
	oneTooMany(t, as("1"), at)
	if s := requestStatus(t, as("1"), "GET", "http://"+at+"/health/live"); s != 200 {
		t.Errorf("its health: %d", s)
	}

	for range 3 {
		if s := requestStatus(t, as("2"), "POST", "http://"+at+"/v1/runs"); s != 200 {
			t.Errorf("of another: %d", s)
		}
	}

	end()
}

// A client that was refused before its body was read does not keep the connection by not sending
// it.
func TestRefusedBodiesAreNotWaitedFor(t *testing.T) {
	at, _, _ := listenFake(t, runsOK(), nil, nil)
	c := dial(t, at, "POST /v1/runs HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")
	_ = c.SetReadDeadline(time.Now().Add(core.RefusedBodyTimeout + time.Minute))
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != 403 {
		t.Errorf("%v, %v", res, err)
	}
}
