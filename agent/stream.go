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
)

// switching is the complete response that opens a streamed run.
const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " +
	api.StreamProtocol + "\r\n\r\n"

// A stream is one streamed run's connection. In addition to the handler's goroutine, which runs the
// program, there are two:
//
//	copyStdin   reads frames and writes the program's stdin; it blocks while
//	            the program does not read, and then the client blocks too
//	hangup.wait waits for the client to close the connection, which copyStdin
//	            cannot see while it blocks
//
// The handler waits for both before it returns.
type stream struct {
	conn   net.Conn
	in     *bufio.Reader
	out    *frameWriter
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	sentSockets bool // of the run's network; set before the run has ended

	mu    sync.Mutex
	stdin *os.File // guarded by mu; nil before Attach and after the end
	ended bool     // guarded by mu; the run or its stdin has ended: no stdin any more
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

	st := &stream{conn: nc, in: rw.Reader, out: out, cancel: cancel}
	hangup, err := watchHangup(nc)
	if err != nil {
		s.fail(st, err, callerOf(r.Context()))
		return
	}

	st.tasks.Go(func() {
		if hangup.wait() {
			cancel()
		}
	})

	// If the agent must stop immediately, a slow client gets one more second.
	cancelHurry := context.AfterFunc(s.kill, func() { out.setStallTimeout(time.Second) })

	streams := api.Streams{
		Attach:   st.attach,
		Stdout:   out.stream(api.FrameStdout),
		Stderr:   out.stream(api.FrameStderr),
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

	hangup.stop()
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

// attach takes the write end of the program's stdin and starts to fill it.
func (st *stream) attach(stdin *os.File) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended || st.stdin != nil {
		stdin.Close()
		return
	}
	st.stdin = stdin
	if err := st.out.frame(api.FrameAdmitted, nil); err != nil {
		st.cancel() // the client is gone
	}
	st.tasks.Go(func() { st.copyStdin(stdin) })
}

// copyStdin copies stdin frames to the program until the client sends no more, the program has closed
// its stdin, or the run is over. After the program has closed its stdin, copyStdin stops reading, so
// that a client that keeps sending just blocks.
func (st *stream) copyStdin(stdin *os.File) {
	defer st.closeStdin()

	buf := make([]byte, api.FrameMax)
	open := true
	for {
		t, payload, err := api.ReadFrame(st.in, buf)
		switch {
		case err != nil:
			if !errors.Is(err, os.ErrDeadlineExceeded) { // end set the deadline
				st.cancel()
			}
			return

		case t == api.FrameStdin && open:
			if _, err := stdin.Write(payload); err != nil {
				return
			}
		case t == api.FrameStdinEnd:
			open = false
			st.closeStdin() // continue reading: a cancel may follow
		default: // a cancel, or a frame that a client must not send
			st.cancel()
			return
		}
	}
}

func (st *stream) closeStdin() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.stdin != nil {
		st.stdin.Close()
		st.stdin = nil
		st.ended = true
	}
}

// end wakes copyStdin, wherever it blocks, and prevents a later one from starting.
func (st *stream) end() {
	st.mu.Lock()
	st.ended = true
	st.mu.Unlock()
	st.closeStdin()
	_ = st.conn.SetReadDeadline(time.Unix(1, 0)) // fails if the connection is closed, and then copyStdin is awake already
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
