package sessions

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/halfclose"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/execsocket"
)

// pingEvery keeps proxies from closing a terminal at which nobody types. Many close after a minute.
const pingEvery = 30 * time.Second

// getExec executes a command in a session for a client with a WebSocket. The program reads what the client sends, with
// tty from a terminal, and ends with the connection.
func (ss *Sessions) getExec(w http.ResponseWriter, r *http.Request) error {
	return ss.ExecSocket(w, r, r.PathValue("id"))
}

// ExecSocket is getExec for a session of the caller, by its id.
func (ss *Sessions) ExecSocket(w http.ResponseWriter, r *http.Request, id string) error {
	s, err := ss.registry.find(core.CallerOf(r.Context()).Name, id)
	if err != nil {
		return err
	}

	ask, err := execsocket.Parse(r.URL.Query(), len(subprotocolsOf(r)) == 0)
	if err := cmp.Or(checkUpgrade(r), err, checkSubprotocols(r)); err != nil {
		return err
	}

	ctx, done, err := ss.Track(r)
	if err != nil {
		return err
	}
	defer done()

	k := ss.accept(w, r)
	if k == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(k.ctx, cancel)()

	stdin, typed := io.Pipe()
	if !ask.Stdin {
		typed.Close()
	}

	sizes, signals := make(chan api.TTY), make(chan api.Signal)
	to := clientInput{stdin: typed, end: func() { typed.Close() },
		resize: func(size api.TTY) error { return offer(k.ctx, sizes, size) },
		signal: func(s api.Signal) error { return offer(k.ctx, signals, s) }}
	disconnect := k.connect(to, func() { typed.Close() })
	defer disconnect()
	defer stdin.Close() // ends a write of what the program does not read
	k.settle(ask.Exec.TTY, sizes)

	o := execRequest(r, id, s, ask.Exec)
	o.Fn = func(ctx context.Context) (api.Result, error) {
		res, err := ss.Config.Agent.ExecEvents(ctx, id, ask.Exec, stdin, client.Events{Started: func() { k.greet(execsocket.Started{}) },
			Stdout: k.writer(execsocket.Stdout, ask.Stdout), Stderr: k.writer(execsocket.Stderr, ask.Stderr), Resize: sizes, Signals: signals})
		return ss.adaptExec(id, res, err)
	}

	res, err := ss.dispatchExec(ctx, o)
	if k.ctx.Err() == nil {
		var failure *api.Problem
		if err != nil {
			failure = ss.CountedProblem(err)
		}
		k.tellCause(ask, res)
		k.end(res, failure)
	}
	return nil
}

// checkUpgrade refuses a request that is none of a WebSocket.
func checkUpgrade(r *http.Request) error {
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return nil
	}
	return core.Problem(http.StatusUpgradeRequired, api.Refuse(api.CodeBadRequest,
		"this is for a WebSocket: open ws://HOST%.200s with a client of WebSockets, or use POST", r.URL.Path))
}

// checkSubprotocols refuses a client that speaks none of ours.
func checkSubprotocols(r *http.Request) error {
	offered := subprotocolsOf(r)
	if len(offered) == 0 || slices.ContainsFunc(execsocket.Subprotocols(), func(p string) bool { return slices.Contains(offered, p) }) {
		return nil
	}
	return api.Refuse(api.CodeBadRequest, "the subprotocols %.200q do not exist here: offer one of %q, or none", offered,
		execsocket.Subprotocols())
}

// accept makes a WebSocket of a request; nil: the client has its answer. A foreign page was refused before
// (core.CheckBrowser), so that its connection opens no terminal (API-11).
func (ss *Sessions) accept(w http.ResponseWriter, r *http.Request) *socket {
	under := &hijacker{ResponseWriter: w}
	conn, err := websocket.Accept(under, r, &websocket.AcceptOptions{Subprotocols: execsocket.Subprotocols()})
	if err != nil {
		ss.Log.Debug("no WebSocket", "err", err) // Accept has answered
		return nil
	}
	conn.SetReadLimit(-1) // none is in memory as a whole: its input is passed on as it arrives

	left, err := halfclose.Watch(under.conn)
	if err != nil {
		ss.Log.Error("connection not watched", "err", err) // it was taken over: nothing can be answered
		_ = under.conn.Close()
		return nil
	}
	ctx, hangUp := context.WithCancel(r.Context()) // not with the last runs, when the service stops: the client reads why
	return &socket{conn: conn, under: under.conn, left: left, heard: make(chan struct{}), ctx: ctx, hangUp: hangUp,
		subprotocol: conn.Subprotocol()}
}

// A hijacker keeps the connection that Accept takes over from net/http.
type hijacker struct {
	http.ResponseWriter
	conn net.Conn
}

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, rw, err
}

// subprotocolsOf returns those that a client offers.
func subprotocolsOf(r *http.Request) []string {
	var all []string
	for _, line := range r.Header.Values("Sec-Websocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" {
				all = append(all, name)
			}
		}
	}
	return all
}

// A socket is the WebSocket of one exec, or of a client that is attached to a process.
type socket struct {
	conn        *websocket.Conn
	under       net.Conn // below it
	left        *halfclose.Hangup
	ctx         context.Context // ends when the client has left
	hangUp      context.CancelFunc
	subprotocol string
	heard       chan struct{} // closed by hear, when the client has sent input or its end
	once        sync.Once     // of hear

	buf []byte // of send, whose calls do not overlap
}

// A clientInput is what a client sends to a program. After an error of resize or signal nothing more is read.
type clientInput struct {
	stdin  io.Writer // io.ErrClosedPipe: nobody reads it
	end    func()    // stdin has ended
	resize func(api.TTY) error
	signal func(api.Signal) error
}

// connect passes on what the client sends, and calls ended after that. disconnect ends it, and waits for its end.
func (k *socket) connect(to clientInput, ended func()) (disconnect func()) {
	var loops sync.WaitGroup
	loops.Go(func() { // read does not see it while the program does not read
		if k.left.Wait() {
			k.hangUp()
		}
	})
	loops.Go(func() { defer k.hangUp(); defer ended(); k.read(to) })
	loops.Go(k.ping)

	return func() {
		k.hangUp()
		_ = k.under.Close()   // ends the wait of a close
		_ = k.conn.CloseNow() // ends a read; the connection may be closed already
		k.left.Stop()
		loops.Wait()
	}
}

// read passes on what the client sends, until it leaves or sends what means nothing. A program that does not read its
// stdin holds the client back.
func (k *socket) read(to clientInput) {
	for {
		_, message, err := k.conn.Reader(k.ctx)
		if err != nil {
			return
		}
		m, err := execsocket.Read(k.subprotocol, message)
		if err != nil {
			wrong := &api.Problem{Code: api.CodeBadRequest, Detail: err.Error()}
			k.close(websocket.StatusPolicyViolation, execsocket.Words(api.Result{}, wrong))
			return
		}

		if m.Kind != execsocket.Resize {
			k.hear()
		}
		switch m.Kind {
		case execsocket.InputEnd:
			to.end()
			_, err = io.Copy(io.Discard, message) // nothing, or the next frame would be looked for in it
		case execsocket.Resize:
			err = to.resize(m.Size)
		case execsocket.Signal:
			err = to.signal(m.Signal)
		case execsocket.Input:
			_, err = io.Copy(to.stdin, message)
		}
		if errors.Is(err, io.ErrClosedPipe) { // it has no stdin, or has ended it: nobody reads this
			_, err = io.Copy(io.Discard, message)
		}
		if err != nil {
			return
		}
	}
}

// offer sends a value to whoever takes it, unless the client leaves.
func offer[T any](ctx context.Context, to chan<- T, v T) error {
	select {
	case to <- v:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *socket) hear() { k.once.Do(func() { close(k.heard) }) }

// ping pings until the end. A client that does not answer is found by the kernel's keep-alive: where the program reads no
// input, an answer may be behind it.
func (k *socket) ping() {
	ticks := time.NewTicker(pingEvery)
	defer ticks.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-ticks.C:
			ctx, cancel := context.WithTimeout(k.ctx, pingEvery)
			_ = k.conn.Ping(ctx) // as above
			cancel()
		}
	}
}

// send sends a message. A client that reads nothing for a while has left.
func (k *socket) send(channel byte, payload []byte) error {
	ctx, cancel := context.WithTimeout(k.ctx, core.SlowClientTimeout)
	defer cancel()
	k.buf = execsocket.Append(k.buf[:0], k.subprotocol, channel, payload)
	return k.conn.Write(ctx, websocket.MessageBinary, k.buf)
}

// writer sends what is written to a channel.
func (k *socket) writer(channel byte, connected bool) io.Writer {
	if !connected {
		return nil
	}
	return writerFunc(func(p []byte) (int, error) {
		if err := k.send(channel, p); err != nil {
			return 0, err
		}
		return len(p), nil
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// greet sends the first message, for which clients wait. The reading finds a client that has left.
func (k *socket) greet(s execsocket.Started) {
	if !k.event(execsocket.Event{Started: &s}) {
		_ = k.send(execsocket.Stdout, nil)
	}
}

// event sends an event, if the subprotocol has events. A client that has left is found otherwise.
func (k *socket) event(e execsocket.Event) bool {
	if k.subprotocol != execsocket.Brig {
		return false
	}
	_ = k.send(execsocket.Events, e.Encode())
	return true
}

// tellCause tells a client of Kubernetes what of brig ended the program, on stderr: it shows nothing else of the status but
// the exit code. A terminal has one stream.
func (k *socket) tellCause(ask execsocket.Request, res api.Result) {
	cause := execsocket.Cause(res)
	switch {
	case cause == "" || k.subprotocol != execsocket.V5 && k.subprotocol != execsocket.V4: // others say it otherwise
	case ask.Exec.TTY != nil:
		_ = k.send(execsocket.Stdout, []byte("\r\n"+cause+"\r\n")) // a client that has left needs no cause
	case ask.Stderr:
		_ = k.send(execsocket.Stderr, []byte(cause+"\n"))
	}
}

// end tells the client how the program has ended, or why there is no result, and closes the connection.
func (k *socket) end(res api.Result, failure *api.Problem) {
	code := websocket.StatusNormalClosure
	switch {
	case failure != nil && k.subprotocol == execsocket.Plain && failure.RetrySafe:
		code = websocket.StatusTryAgainLater
	case failure != nil && k.subprotocol == execsocket.Plain:
		code = websocket.StatusInternalError
	case failure == nil && k.subprotocol == execsocket.Brig && res.SessionEnded != "":
		code = execsocket.SessionEnded
	}

	if failure != nil {
		k.event(execsocket.Event{Error: failure})
	} else {
		k.event(execsocket.Event{Result: &res})
	}
	if k.subprotocol != execsocket.Plain {
		_ = k.send(execsocket.Status, execsocket.StatusOf(res, failure)) // a client that has left needs no status
	}
	k.close(code, execsocket.Words(res, failure))
}

// closeWait is how long a client has to close its side.
const closeWait = 5 * time.Second

// close closes the connection with a reason. Of a frame that the client has begun, Close waits for the rest, however
// much that is, and nothing else ends this wait (TTY-11, TestExecSocketsOfStalledClients).
func (k *socket) close(code websocket.StatusCode, reason string) {
	_ = k.under.SetDeadline(time.Now().Add(closeWait)) // fails only if the connection is closed
	_ = k.conn.Close(code, reason)                     // it ends in any case
}
