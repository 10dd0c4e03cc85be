package service

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/service/core"
)

// A waiting request is one whose answer waits for a program, or of a stream.
type waiting struct {
	path, kind, accept, body string
}

// waitingRequests are requests of each kind. Each makes the agent execute one program.
var waitingRequests = map[string]waiting{
	"run":           {path: "/v1/runs", body: `{"language":"python","source":"x"}`},
	"execute":       {path: "/execute", body: `{"language":"python","code":"x"}`},
	"sandboxfusion": {path: "/sandboxfusion/run_code", body: `{"language":"python","code":"x"}`},
	"judge0":        {path: "/judge0/submissions?wait=true", body: `{"language_id":71,"source_code":"x"}`},
	"exec":          {path: "/v1/sessions/s1/exec", body: `{"argv":["true"]}`},
	"exec, events":  {path: "/v1/sessions/s1/exec", accept: core.EventStream, body: `{"argv":["true"]}`},
	"batch": {path: "/v1/batches?wait=true", kind: core.JSONLines,
		body: `{"id":"a","image":"tiny","argv":["true"]}` + "\n"},
	"mcp": {path: "/mcp", accept: "application/json, text/event-stream",
		body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":` +
			`{"language":"python","code":"x"}}}`},
}

// text is the request; without its body if the client waits for the status 100.
func (q waiting) text(proto string, expect bool) string {
	kind, accept, body := q.kind, q.accept, q.body
	if kind == "" {
		kind = "application/json"
	}
	if accept == "" {
		accept = "*/*"
	}
	head := fmt.Sprintf("POST %s %s\r\nHost: localhost\r\nContent-Type: %s\r\nAccept: %s\r\nContent-Length: %d\r\n", q.path, proto,
		kind, accept, len(body))
	if expect {
		return head + "Expect: 100-continue\r\n\r\n"
	}
	return head + "\r\n" + body
}

// A pausedAgent is an agent whose programs run until the test answers for them or they are canceled.
type pausedAgent struct {
	began, answer, canceled chan struct{}
}

func newPausedAgent() pausedAgent {
	return pausedAgent{make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1)}
}

func (a pausedAgent) mux() *http.ServeMux {
	mux := new(fakeSessions).mux()
	execute := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the end of the connection is noticed after that
		a.began <- struct{}{}
		select {
		case <-a.answer:
			out := api.Bytes("its answer")
			answerRun(w, r, api.Result{Verdict: api.OK, Stdout: out, Usage: api.Usage{StdoutBytes: int64(len(out))}})
		case <-r.Context().Done():
			a.canceled <- struct{}{}
		}
	}
	mux.HandleFunc("POST /v1/runs", execute)
	mux.HandleFunc("POST /v1/sessions/{id}/exec", execute)
	return mux
}

// listenPaused starts a service in front of a paused agent, with a session. It returns its address, and a channel that
// gets a value for each client that has closed its sending side.
func listenPaused(t *testing.T, a pausedAgent, change func(*Config)) (string, <-chan struct{}) {
	t.Helper()
	var closed <-chan struct{}
	around := func(ln net.Listener) net.Listener {
		ln, closed = testenv.HalfClosed(ln)
		return ln
	}
	at, _, web := listenFake(t, a.mux(), around,
		withDialects(func(c *Config) {
			c.Batches = t.TempDir()
			if change != nil {
				change(c)
			}
		}))
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}
	return at, closed
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// A client may close its sending side after its request, as nc -N does. net/http takes it for one that has left: its run
// ended, and it read an empty answer with status 200.
func TestAHalfClosedClientGetsItsAnswer(t *testing.T) {
	a := newPausedAgent()
	at, closed := listenPaused(t, a, nil)
	for name, q := range waitingRequests {
		for form, proto := range map[string]string{"HTTP/1.1": "HTTP/1.1", "HTTP/1.0": "HTTP/1.0", "100 Continue": "HTTP/1.1"} {
			t.Run(name+"/"+form, func(t *testing.T) {
				expect := form == "100 Continue"
				c := dial(t, at, q.text(proto, expect)).(*net.TCPConn)
				in := bufio.NewReader(c)
				if expect {
					res, err := http.ReadResponse(in, nil)
					if err != nil || res.StatusCode != http.StatusContinue {
						t.Fatal(res, err)
					}
					write(t, c, q.body)
				}
				if err := c.CloseWrite(); err != nil {
					t.Fatal(err)
				}

				<-closed
				<-a.began
				select {
				case a.answer <- struct{}{}:
				case <-a.canceled:
					t.Error("its run was canceled")
				}
				res, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(res.Body)
				if err != nil || res.StatusCode/100 != 2 || !strings.Contains(string(text), want(name)) {
					t.Errorf("%d %q %v", res.StatusCode, text, err)
				}
				if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
					t.Errorf("after the answer: %q, %v", rest, err)
				}
			})
		}
	}
}

// want is a part of the answer to a waiting request.
func want(name string) string {
	if name == "batch" {
		return `"end":true`
	}
	return "its answer"
}

// A client that has left does not hold a slot of the agent. Of a batch that is canceled then, its sending side decides.
func TestAClientThatHasLeftEndsItsRun(t *testing.T) {
	a := newPausedAgent()
	at, _ := listenPaused(t, a, nil)
	requests := maps.Clone(waitingRequests)
	batch := requests["batch"]
	batch.path += "&cancel_on_hangup=true" // without it the batch goes on
	requests["batch"] = batch

	for name, q := range requests {
		for _, proto := range []string{"HTTP/1.1", "HTTP/1.0"} {
			for how, leave := range map[string]func(*net.TCPConn) error{
				"at once":                func(c *net.TCPConn) error { return c.Close() },
				"by a reset":             func(c *net.TCPConn) error { _ = c.SetLinger(0); return c.Close() },
				"after its sending side": func(c *net.TCPConn) error { _ = c.CloseWrite(); return c.Close() },
			} {
				t.Run(name+"/"+proto+"/"+how, func(t *testing.T) {
					c := dial(t, at, q.text(proto, false)).(*net.TCPConn)
					<-a.began
					if err := leave(c); err != nil {
						t.Fatal(err)
					}
					<-a.canceled
				})
			}
		}
	}

	t.Run("batch/its sending side, which cancels it", func(t *testing.T) {
		c := dial(t, at, requests["batch"].text("HTTP/1.1", false)).(*net.TCPConn)
		<-a.began
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		<-a.canceled
	})
}

// Two requests are sent at once, before the sending side is closed.
func TestAHalfClosedPipelineGetsItsAnswers(t *testing.T) {
	a := newPausedAgent()
	at, closed := listenPaused(t, a, nil)
	both := waitingRequests["run"].text("HTTP/1.1", false) + waitingRequests["sandboxfusion"].text("HTTP/1.1", false)
	c := dial(t, at, both).(*net.TCPConn)
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}

	<-closed
	in := bufio.NewReader(c)
	for range 2 {
		<-a.began
		a.answer <- struct{}{}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 || !strings.Contains(string(text), "its answer") {
			t.Errorf("%d %q %v", res.StatusCode, text, err)
		}
	}
}

// Under TLS nothing can be sent early: a client that has closed its sending side has left. It must not read an empty
// answer as a success.
func TestAHalfClosedClientUnderTLSHasLeft(t *testing.T) {
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	defer certificate.Close()

	a := newPausedAgent()
	at, _ := listenPaused(t, a, func(c *Config) { c.TLS = certificate.TLS.Clone(); c.TLS.NextProtos = nil })
	for _, name := range []string{"run", "execute", "mcp"} {
		c := tls.Client(dial(t, at, "").(*net.TCPConn), &tls.Config{InsecureSkipVerify: true})
		write(t, c, waitingRequests[name].text("HTTP/1.1", false))
		<-a.began
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}

		<-a.canceled
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := io.ReadAll(res.Body)
		failed := res.StatusCode == 499 || strings.Contains(string(text), `"isError":true`) // of MCP, if the tool is first
		if err != nil || !failed || !strings.Contains(string(text), "sending side") {
			t.Errorf("%s: %d %q %v", name, res.StatusCode, text, err)
		}
	}
}
