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

	"github.com/brig-sandbox/brig/api"
)

// switching is the whole answer that opens a streamed run.
const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + api.StreamProtocol + "\r\n\r\n"

// A stream is one streamed run's connection. Beside the handler's goroutine,
// which runs the program, there are two:
//
//	feed  reads frames and writes the program's stdin; it blocks while the
//	      program does not read, and the client with it
//	watch waits for the client to hang up, which feed could not see meanwhile
//
// The handler joins both before it returns.
type stream struct {
	conn   net.Conn
	in     *bufio.Reader
	out    *frameWriter
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu    sync.Mutex
	stdin *os.File // guarded by mu; nil before Attach and after the end
	over  bool     // guarded by mu; the run has ended: no stdin any more
}

// runStreamed takes the connection from net/http and carries one run over it.
func (s *Server) runStreamed(w http.ResponseWriter, r *http.Request, wall api.Duration, do work) {
	nc, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	defer nc.Close()
	if err := nc.SetDeadline(noDeadline); err != nil {
		return
	}
	// The wall limit asked for is not checked yet: a day more than bounds a stall,
	// and the sum cannot overflow.
	patience := min(max(s.cfg.MaxWall, time.Duration(wall)), 24*time.Hour) + s.cfg.Stall
	out := &frameWriter{conn: nc}
	out.stall.Store(int64(patience))
	if err := out.raw([]byte(switching)); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out.gone = cancel

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
	// When the agent must stop now, a slow client gets one more second.
	hurried := context.AfterFunc(s.kill, func() { out.hurry(time.Second) })

	streams := Streams{
		Attach:   st.attach,
		Stdout:   out.stream(api.FrameStdout),
		Stderr:   out.stream(api.FrameStderr),
		Compiled: func(c api.Compilation) { s.send(st, api.FrameCompiled, c) },
		Test:     func(t api.TestResult) { s.send(st, api.FrameTest, t) },
		Hold:     holdingOf(r.Context()).resize,
		Again:    holdingOf(r.Context()).again(),
	}
	if r.Header.Get(api.UsageHeader) != "" {
		streams.Usage = st.usage
	}
	res, err := s.runGuarded(ctx, do, streams, callerOf(r.Context()))
	holdingOf(r.Context()).ended(err)
	s.note(callerOf(r.Context()), res, err)

	st.end()
	if hurried() {
		out.hurry(s.cfg.Stall)
	}
	if err != nil {
		s.fail(st, err, callerOf(r.Context()))
	} else {
		if res.Stage == api.StageRun {
			res.Stdout, res.Stderr, res.Tests = nil, nil, nil // they were sent as they came
		}
		s.send(st, api.FrameResult, res)
	}
	hangup.stop()
	st.tasks.Wait()
}

// runGuarded turns a panic of the Runner into an error, because net/http cannot
// answer on a connection it gave away.
func (s *Server) runGuarded(ctx context.Context, do work, io Streams, c Caller) (res api.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked(p)
		}
	}()
	return do(ctx, io, c)
}

// usage sends a sample, in a frame of its own between whatever else is sent.
func (st *stream) usage(u api.LiveUsage) {
	text, err := json.Marshal(u)
	if err == nil {
		err = st.out.frame(api.FrameUsage, text)
	}
	if err != nil {
		st.cancel() // the client is gone
	}
}

// attach takes the write end of the program's stdin and starts to fill it.
func (st *stream) attach(stdin *os.File) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.over || st.stdin != nil {
		stdin.Close()
		return
	}
	st.stdin = stdin
	if err := st.out.frame(api.FrameTaken, nil); err != nil {
		st.cancel() // the client is gone
	}
	st.tasks.Go(func() { st.feed(stdin) })
}

// feed copies stdin frames to the program until the client has no more, the
// program takes no more, or the run is over. When the program takes no more it
// stops reading, so that a client which sends for ever just waits.
func (st *stream) feed(stdin *os.File) {
	defer st.closeStdin()
	buf := make([]byte, api.FrameMax)
	open := true
	for {
		t, payload, err := api.ReadFrame(st.in, buf)
		switch {
		case err != nil:
			if !errors.Is(err, os.ErrDeadlineExceeded) { // the timeout is end's
				st.cancel()
			}
			return
		case t == api.FrameStdin && open:
			if _, err := stdin.Write(payload); err != nil {
				return
			}
		case t == api.FrameStdinEnd:
			open = false
			st.closeStdin() // and go on reading: a cancel may follow
		default: // a cancel, or something that is no frame of a client's
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
		st.over = true
	}
}

// end wakes feed, wherever it blocks, and lets no other begin.
func (st *stream) end() {
	st.mu.Lock()
	st.over = true
	st.mu.Unlock()
	st.closeStdin()
	_ = st.conn.SetReadDeadline(time.Unix(1, 0)) // a closed connection has woken it already
}

// send tells the client v. One that is gone has nobody to tell, and its run is
// canceled.
func (s *Server) send(st *stream, t api.FrameType, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.fail(st, err, nobody)
		return
	}
	_ = st.out.whole(t, body)
}

func (s *Server) fail(st *stream, err error, c Caller) {
	body, merr := json.Marshal(s.told(err, c))
	if merr != nil || len(body) > api.FrameMax {
		body = []byte(`{"code":"internal","message":"the agent could not encode its error","retry_safe":false}`)
	}
	_ = st.out.frame(api.FrameFailure, body)
}
