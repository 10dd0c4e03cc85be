package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/halfclose"
)

// switching is the complete response that opens a streamed run.
const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " +
	api.StreamProtocol + "\r\n\r\n"

// A stream is one streamed run's connection. In addition to the handler's goroutine, which runs the
// program, there are:
//
//	copyInput    reads frames and writes the program's stdin; it blocks while
//	             the program does not read, and then the client blocks too
//	inflow.write writes stdin, and another control, of a resident instead
//	hangup.Wait  waits for the client to close the connection, which copyInput
//	             cannot see while it blocks
//
// The handler waits for all before it returns.
type stream struct {
	conn   net.Conn
	in     *bufio.Reader
	out    *frameWriter
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	typing *typing       // of all terminals
	over   chan struct{} // closed when the run has ended

	sentSockets bool // of the run's network; set before the run has ended

	mu    sync.Mutex
	input *input // guarded by mu; nil before Attach
	ended bool   // guarded by mu; the run has ended: there is no input any more
}

// runStreamed takes the connection over from net/http and streams one run on it.
func (s *Server) runStreamed(w http.ResponseWriter, r *http.Request, wall api.Duration, do runFunc) {
	nc, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	defer nc.Close()

	if err := nc.SetDeadline(noDeadline); err != nil {
		return
	}

	// The requested wall limit is not checked yet: with at most a day, the time is bounded and the
	// sum cannot overflow.
	stallTimeout := min(max(s.cfg.MaxWall, time.Duration(wall)), 24*time.Hour) + s.cfg.StallTimeout
	out := &frameWriter{conn: nc}
	out.stall.Store(int64(stallTimeout))
	if err := out.raw([]byte(switching)); err != nil {
		return
	}

	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()

	out.onDisconnect = cancel

	st := &stream{conn: nc, in: rw.Reader, out: out, cancel: cancel, typing: &s.typing, over: make(chan struct{})}
	hangup, err := halfclose.Watch(nc)
	if err != nil {
		s.fail(st, err, callerOf(r.Context()))
		return
	}

	st.tasks.Go(func() {
		if hangup.Wait() {
			cancel()
		}
	})

	// If the agent must stop immediately, a slow client gets one more second.
	cancelHurry := context.AfterFunc(s.kill, func() { out.setStallTimeout(time.Second) })

	streams := api.Streams{
		Attach:   st.attach,
		Stdout:   out.stream(api.FrameStdout),
		Stderr:   out.stream(api.FrameStderr),
		Control:  out.stream(api.FrameControl),
		Compiled: func(c api.Compilation) { s.send(st, api.FrameCompiled, c) },
		Test:     func(t api.TestResult) { s.send(st, api.FrameTest, t) },
		Network:  st.network,
		Memory:   reservationOf(r.Context()),
		Wait:     waitOf(r),
	}

	if r.Header.Get(api.UsageHeader) != "" {
		streams.Usage = st.usage
	}

	res, err := s.runGuarded(ctx, do, streams, callerOf(r.Context()))
	s.logRun(callerOf(r.Context()), res, err)

	st.end()
	if cancelHurry() {
		out.setStallTimeout(s.cfg.StallTimeout)
	}

	if err != nil {
		s.fail(st, err, callerOf(r.Context()))
	} else {
		if res.Stage == api.StageRun {
			res.Stdout, res.Stderr, res.Tests = nil, nil, nil // they were streamed already
		}
		s.send(st, api.FrameResult, res)
	}

	if st.sentSockets {
		s.waitUntilRead(nc)
	}

	hangup.Stop()
	st.tasks.Wait()
}

// waitUntilRead waits until the client has read everything, or is gone. Sockets in a message that
// nobody reads keep the network namespace of their run, which is charged to no group. As long as the
// agent has the connection open, it counts among those of all clients, and so these namespaces are
// bounded (NET-15). The run's context says nothing here: a client that cancels, or closes its side for
// writing, can still hold the message, and the end of stdin's copying cancels the request, too.
func (s *Server) waitUntilRead(c net.Conn) {
	const pause = 20 * time.Millisecond
	for unread(c) {
		select {
		case <-s.kill.Done():
			return
		case <-time.After(pause):
		}
	}
}

// unread reports whether the other end has not read all that was sent (SIOCOUTQ, unix(7)).
func unread(c net.Conn) bool {
	raw, err := rawConn(c)
	if err != nil {
		return false
	}
	n := 0
	cerr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return cerr == nil && err == nil && n > 0
}

// runGuarded turns a panic of the Runner into an error, because net/http cannot answer on a
// hijacked connection.
func (s *Server) runGuarded(ctx context.Context, do runFunc, io api.Streams, c api.Caller) (res api.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.panicError(p)
		}
	}()
	return do(ctx, io, c)
}

// usage sends a sample in a separate frame, between the other frames.
func (st *stream) usage(u api.LiveUsage) {
	text, err := json.Marshal(u)
	if err == nil {
		err = st.out.frame(api.FrameUsage, text)
	}
	if err != nil {
		st.cancel() // the client is gone
	}
}

// network sends the sockets of the run's network, in a frame of its own: descriptors travel with the
// first byte that they are sent with.
func (st *stream) network(sockets []*os.File) error {
	st.sentSockets = true
	err := st.out.frameWithFiles(api.FrameNetwork, sockets)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		st.cancel() // the client is gone: the run is canceled, as at any other time
		return nil
	}
	return err
}

// attach takes what reaches the program, and starts to pass on what the client sends.
func (st *stream) attach(a api.Attached) {
	st.mu.Lock()
	defer st.mu.Unlock()

	var taken func(api.FrameType) func(int)
	if a.Resident {
		taken = func(t api.FrameType) func(int) {
			return func(n int) { _ = st.out.frame(api.FrameTaken, api.Taken(t, n)) } // a client that has left is noticed otherwise
		}
	} else {
		taken = func(api.FrameType) func(int) { return nil }
	}

	in := &input{stdin: newInflow(api.FrameStdin, a.Stdin, taken(api.FrameStdin)),
		control: newInflow(api.FrameControl, a.Control, taken(api.FrameControl)), signal: a.Signal, terminal: isTerminal(a.Stdin),
		resident: a.Resident}
	if in.terminal {
		in.stdin.pace = st.awaitTurn
	}
	if st.ended || st.input != nil {
		in.stop()
		return
	}

	st.input = in
	if err := st.out.frame(api.FrameAdmitted, nil); err != nil {
		st.cancel() // the client is gone
	}
	if a.Resident {
		st.tasks.Go(in.stdin.write)
		st.tasks.Go(in.control.write)
	}
	st.tasks.Go(func() { st.copyInput(in) })
}

// An input is all that a client sends to its program.
type input struct {
	stdin, control *inflow
	signal         func(api.Signal) error // nil: the program gets none
	terminal       bool                   // stdin is one
	resident       bool                   // the program holds no slot
}

// stop closes both pipes. Nothing more is sent to the program.
func (in *input) stop() {
	in.stdin.stop()
	in.control.stop()
}

// copyInput passes frames on until the client sends no more, a program without a window has closed its stdin, or the run
// is over. Without a window the client then blocks if it keeps sending.
func (st *stream) copyInput(in *input) {
	defer in.stop()

	buf := make([]byte, api.FrameMax)
	for {
		t, payload, err := api.ReadFrame(st.in, buf)
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) { // end set the deadline
				st.cancel()
			}
			return
		}

		if cost, costs := in.cost(t, payload); costs && !st.awaitTurn(cost) {
			return
		}
		err = in.take(t, payload)
		if errors.Is(err, errStdinClosed) {
			return
		}
		if err != nil {
			st.cancel()
			return
		}
	}
}

// errStdinClosed says that nothing can reach the program any more.
var errStdinClosed = errors.New("the program has closed its stdin")

// take passes one frame on. An error means that a client must not send such a frame, or cancels.
func (in *input) take(t api.FrameType, payload []byte) error {
	switch {
	case t == api.FrameStdin:
		err := in.stdin.put(payload)
		if err != nil && in.stdin.brokenPipe() {
			return errStdinClosed
		}
		return err

	case t == api.FrameStdinEnd && !in.terminal: // at a terminal Ctrl-D ends what is typed; its size may still change
		in.stdin.end()
	case t == api.FrameStdinEnd:

	case t == api.FrameControl && len(payload) > 0:
		return in.control.put(payload)
	case t == api.FrameControl && in.control.file != nil:
		in.control.end()

	case t == api.FrameResize && in.terminal:
		return resize(in.stdin.file, payload)
	case t == api.FrameSignal && in.signal != nil:
		return in.signal(api.Signal(payload))
	default:
		return errors.New("a cancel, or a frame that a client must not send")
	}
	return nil
}

// cost is what a frame costs of the allowance of all terminals, apart from what is typed. Frames for a program that has a
// slot of its own cost nothing, unless it has a terminal.
func (in *input) cost(t api.FrameType, payload []byte) (cost int, costs bool) {
	if len(payload) == 0 || t != api.FrameStdin && t != api.FrameControl {
		cost = typedSize
	}
	return cost + typedFrame, in.terminal || in.resident
}

// awaitTurn waits until so many bytes may be typed. It returns false when the run has ended.
func (st *stream) awaitTurn(bytes int) bool {
	pause := st.typing.pause(bytes)
	if pause == 0 {
		return true
	}
	select {
	case <-time.After(pause):
		return true
	case <-st.over:
		return false
	}
}

// end wakes copyInput, wherever it blocks, and prevents a later one from starting.
func (st *stream) end() {
	close(st.over)
	st.mu.Lock()
	st.ended = true
	in := st.input
	st.mu.Unlock()
	if in != nil {
		in.stop()
	}
	_ = st.conn.SetReadDeadline(time.Unix(1, 0)) // fails if the connection is closed, and then copyInput is awake already
}

// send sends v to the client. If the client is gone, the write cancels the run.
func (s *Server) send(st *stream, t api.FrameType, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.fail(st, err, nobody)
		return
	}
	_ = st.out.sendBody(t, body)
}

func (s *Server) fail(st *stream, err error, c api.Caller) {
	body, merr := json.Marshal(s.toAPIError(err, c))
	if merr != nil || len(body) > api.FrameMax {
		body = []byte(`{"code":"internal","message":"the agent could not encode its error","retry_safe":false}`)
	}
	_ = st.out.frame(api.FrameFailure, body)
}
