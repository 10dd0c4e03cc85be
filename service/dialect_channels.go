package service

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/jupytersocket"
)

// channelsPing keeps proxies from closing the WebSocket of a kernel that executes nothing.
const channelsPing = 30 * time.Second

// channelsClose is how long a client has to close its side.
const channelsClose = 5 * time.Second

// A hijacker keeps the connection that websocket.Accept takes over from net/http.
type hijacker struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack is that of http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, rw, err
}

// A kernelSocket is the WebSocket of a client of a kernel: serve reads its messages and answers what takes no time, and
// execute does what its cells ask for, one after another.
type kernelSocket struct {
	*dialectHandler
	caller      core.Caller
	kernel      api.Kernel
	conn        *websocket.Conn
	under       net.Conn // below it
	subprotocol string
	session     string // of the messages of this side

	cells chan kernelCell

	sending sync.Mutex // one message at a time

	mu      sync.Mutex
	aborted map[string]bool // guarded by mu; ids of messages that wait behind a cell that failed
	waiting map[string]bool // guarded by mu; ids of messages in cells
}

// A kernelCell is a cell that waits for its turn.
type kernelCell struct {
	m   jupytersocket.Message
	ask jupytersocket.Execute
}

// serveChannels serves the WebSocket of a client of a kernel until it leaves. A foreign page was refused before
// (core.CheckBrowser), so that its connection executes nothing (API-11).
func (h *dialectHandler) serveChannels(w http.ResponseWriter, r *http.Request, k api.Kernel) error {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return core.Problem(http.StatusUpgradeRequired, api.Refuse(api.CodeBadRequest,
			"this is for a WebSocket: open ws://HOST%.200s with a client of WebSockets", r.URL.Path))
	}
	ctx, done, err := h.core.Track(r)
	if err != nil {
		return err
	}
	defer done()

	under := &hijacker{ResponseWriter: w}
	conn, err := websocket.Accept(under, r, &websocket.AcceptOptions{Subprotocols: []string{jupytersocket.V1}})
	if err != nil {
		h.core.Log.Debug("no WebSocket", "err", err) // Accept has answered
		return nil
	}
	defer func() { _ = conn.CloseNow() }() // it may be closed already
	conn.SetReadLimit(jupytersocket.MaxMessage)

	ctx, cancel := context.WithCancel(ctx)
	s := &kernelSocket{dialectHandler: h, caller: core.CallerOf(r.Context()), kernel: k,
		conn: conn, under: under.conn, subprotocol: conn.Subprotocol(), session: core.NewID(),
		cells: make(chan kernelCell, api.KernelCells), aborted: map[string]bool{}, waiting: map[string]bool{}}
	var loops sync.WaitGroup
	defer loops.Wait()
	defer cancel()
	loops.Go(func() { s.executeAll(ctx) })
	loops.Go(func() { s.ping(ctx) })
	s.serve(ctx)
	return nil
}

// serve reads what the client sends until it leaves, or sends what means nothing.
func (s *kernelSocket) serve(ctx context.Context) {
	for {
		kind, b, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		m, err := jupytersocket.Read(s.subprotocol, kind == websocket.MessageBinary, b)
		if err != nil {
			_ = s.under.SetDeadline(time.Now().Add(channelsClose))               // Close waits for the rest of a frame, however long that takes
			_ = s.conn.Close(websocket.StatusPolicyViolation, clip(err.Error())) // the client may have left
			return
		}
		if !s.take(ctx, m) {
			return
		}
	}
}

// clip makes words fit into the reason of a close frame.
func clip(words string) string {
	const most = 120
	if len(words) > most {
		words = words[:most]
	}
	return strings.ToValidUTF8(words, "")
}

// take does what a message asks for. It reports false if the client has left, or the kernel has ended.
func (s *kernelSocket) take(ctx context.Context, m jupytersocket.Message) bool {
	switch m.Header.Type {
	case "execute_request":
		return s.wait(ctx, m)
	case "interrupt_request":
		if err := s.sessions.InterruptKernel(s.caller, s.kernel.ID); err != nil {
			return false
		}
	case "shutdown_request":
		return s.shutDown(ctx, m)
	}
	return s.reply(ctx, m)
}

// wait lets a cell wait for its turn. One too many is refused.
func (s *kernelSocket) wait(ctx context.Context, m jupytersocket.Message) bool {
	ask, err := jupytersocket.ReadExecute(m.Content)
	if err != nil {
		return s.refuse(ctx, m, api.Refuse(api.CodeBadRequest, "the content of an execute_request has a field of a wrong type"))
	}

	s.mu.Lock()
	s.waiting[m.Header.ID] = true
	s.mu.Unlock()
	select {
	case s.cells <- kernelCell{m, ask}:
		return true
	default:
	}
	s.mu.Lock()
	delete(s.waiting, m.Header.ID)
	s.mu.Unlock()
	return s.refuse(ctx, m, api.Fail(api.CodeSessionBusy, "%d cells wait, and that is the maximum: send it again later", api.KernelCells))
}

// refuse tells a client that a cell is not executed.
func (s *kernelSocket) refuse(ctx context.Context, m jupytersocket.Message, cause error) bool {
	p, _ := core.ProblemFor(cause)
	var o jupytersocket.Outcome
	kind, content := o.Refuse(p)
	return s.status(ctx, m, "busy") && s.send(ctx, jupytersocket.IOPub, kind, m, content) &&
		s.send(ctx, m.Channel, "execute_reply", m, o.Reply()) && s.status(ctx, m, "idle")
}

// reply answers what needs no cell.
func (s *kernelSocket) reply(ctx context.Context, m jupytersocket.Message) bool {
	kind, content := jupytersocket.Reply(s.kernel.Language, s.core.Config.Version, m)
	if kind == "" {
		return true
	}
	return s.status(ctx, m, "busy") && s.send(ctx, m.Channel, kind, m, content) && s.status(ctx, m, "idle")
}

// shutDown ends the kernel, or gives it a fresh interpreter.
func (s *kernelSocket) shutDown(ctx context.Context, m jupytersocket.Message) bool {
	if !s.reply(ctx, m) {
		return false
	}
	if !jupytersocket.Restarts(m) {
		_ = s.sessions.EndKernel(ctx, s.caller, s.kernel.ID) // one that has ended is what was asked for
		return false
	}
	r := (&http.Request{}).WithContext(ctx)
	return s.sessions.RestartKernel(r, s.kernel.ID) == nil
}

// executeAll executes the cells of the client in their order.
func (s *kernelSocket) executeAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-s.cells:
			if !s.execute(ctx, c) {
				_ = s.conn.CloseNow() // ends serve
				return
			}
		}
	}
}

// execute executes a cell, and tells the client what it does. It reports false if the client has left.
func (s *kernelSocket) execute(ctx context.Context, c kernelCell) bool {
	s.mu.Lock()
	abort := s.aborted[c.m.Header.ID]
	delete(s.aborted, c.m.Header.ID)
	delete(s.waiting, c.m.Header.ID)
	s.mu.Unlock()
	if !s.status(ctx, c.m, "busy") {
		return false
	}
	if abort {
		return s.send(ctx, jupytersocket.Shell, "execute_reply", c.m, jupytersocket.Aborted()) && s.status(ctx, c.m, "idle")
	}

	var o jupytersocket.Outcome
	tell := func(e api.CellEvent) error {
		if e.Type == api.CellEventAsk { // no client of Jupyter has tools; if the call has ended, nobody waits
			_ = s.sessions.AnswerCall(s.caller, s.kernel.ID, api.KernelAnswer{ID: e.ID, Error: "a client of Jupyter has no tools"})
		}
		if kind, content := o.Tell(e, c.ask.Code); kind != "" && !s.send(ctx, jupytersocket.IOPub, kind, c.m, content) {
			return context.Canceled
		}
		return nil
	}
	err := s.sessions.ExecuteCell(ctx, s.caller, s.kernel.ID, api.Cell{Code: c.ask.Code, Silent: c.ask.Silent}, tell)
	if err != nil {
		p, _ := core.ProblemFor(err)
		kind, content := o.Refuse(p)
		s.send(ctx, jupytersocket.IOPub, kind, c.m, content)
	}
	if o.Failed() && c.ask.StopsOthers() {
		s.mu.Lock()
		for id := range s.waiting {
			s.aborted[id] = true
		}
		s.mu.Unlock()
	}
	return s.send(ctx, jupytersocket.Shell, "execute_reply", c.m, o.Reply()) && s.status(ctx, c.m, "idle")
}

func (s *kernelSocket) status(ctx context.Context, m jupytersocket.Message, state string) bool {
	return s.send(ctx, jupytersocket.IOPub, "status", m, jupytersocket.Status(state))
}

// send sends an answer to a message. A client that reads nothing for a while has left, for which it reports false.
func (s *kernelSocket) send(ctx context.Context, channel, kind string, m jupytersocket.Message, content any) bool {
	header := jupytersocket.Header{ID: core.NewID(), Session: s.session, Username: "brig", Type: kind, Version: jupytersocket.Protocol,
		Date: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")}
	b, isBinary, err := jupytersocket.Append(nil, s.subprotocol,
		jupytersocket.Answer{Channel: channel, Header: header, Parent: m.Parent, Content: content})
	if err != nil {
		s.core.Log.Error("message not encoded", "type", kind, "err", err)
		return false
	}
	of := websocket.MessageText
	if isBinary {
		of = websocket.MessageBinary
	}

	s.sending.Lock()
	defer s.sending.Unlock()
	ctx, cancel := context.WithTimeout(ctx, core.SlowClientTimeout)
	defer cancel()
	return s.conn.Write(ctx, of, b) == nil
}

// ping pings until the end. A client that does not answer is found by the kernel's keep-alive.
func (s *kernelSocket) ping(ctx context.Context) {
	ticks := time.NewTicker(channelsPing)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			wait, cancel := context.WithTimeout(ctx, channelsPing)
			_ = s.conn.Ping(wait) // as above
			cancel()
		}
	}
}
