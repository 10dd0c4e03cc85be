package agent

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A frameWriter writes whole frames from many goroutines.
type frameWriter struct {
	conn         net.Conn
	onDisconnect func() // called when a write shows that the client is gone

	stall atomic.Int64 // nanoseconds that the client may stop reading

	mu  sync.Mutex
	buf []byte // guarded by mu
	err error  // guarded by mu; the first error; nothing is written after it
}

// stream returns a writer whose bytes become frames of type t.
func (w *frameWriter) stream(t api.FrameType) io.Writer { return streamWriter{w, t} }

type streamWriter struct {
	w *frameWriter
	t api.FrameType
}

func (s streamWriter) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		n := min(len(p)-done, api.FrameMax)
		if err := s.w.frame(s.t, p[done:done+n]); err != nil {
			return done, err
		}
		done += n
	}
	return len(p), nil
}

func (w *frameWriter) frame(t api.FrameType, payload []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var head [api.FrameHeader]byte
	api.PutFrameHeader(head[:], t, len(payload))
	w.buf = append(append(w.buf[:0], head[:]...), payload...)
	return w.write(w.buf)
}

// frameWithFiles writes a frame without payload, with files attached. The caller keeps the files.
func (w *frameWriter) frameWithFiles(t api.FrameType, files []*os.File) error {
	under := w.conn
	if c, ok := under.(*conn); ok {
		under = c.Conn.Conn
	}

	unixConn, ok := under.(*net.UnixConn)
	if !ok {
		return errors.New("BUG: descriptors are sent on a unix socket only")
	}

	fds := make([]int, len(files))
	for i, f := range files { // not Fd, which would make the socket blocking, for the receiver too
		raw, err := f.SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { fds[i] = int(fd) })
		}
		if err != nil {
			return err
		}
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	if w.err != nil {
		return w.err
	}

	var head [api.FrameHeader]byte
	api.PutFrameHeader(head[:], t, 0)
	if w.err = w.conn.SetWriteDeadline(time.Now().Add(time.Duration(w.stall.Load()))); w.err != nil {
		return w.err
	}

	_, _, w.err = unixConn.WriteMsgUnix(head[:], syscall.UnixRights(fds...), nil)
	runtime.KeepAlive(files)
	return w.err
}

// sendBody sends a body in as many frames as it needs; the last one is of type t. Calls must not
// overlap.
func (w *frameWriter) sendBody(t api.FrameType, body []byte) error {
	for len(body) > api.FrameMax {
		if err := w.frame(api.FramePart, body[:api.FrameMax]); err != nil {
			return err
		}
		body = body[api.FrameMax:]
	}
	return w.frame(t, body)
}

func (w *frameWriter) raw(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(b)
}

// write sends all of b. The client may be slow, as long as it keeps reading.
func (w *frameWriter) write(b []byte) error {
	for w.err == nil && len(b) > 0 {
		if w.err = w.conn.SetWriteDeadline(time.Now().Add(time.Duration(w.stall.Load()))); w.err != nil {
			break
		}
		n, err := w.conn.Write(b)
		b = b[n:]
		if err != nil && !(n > 0 && errors.Is(err, os.ErrDeadlineExceeded)) {
			w.err = err
		}
	}

	if w.err != nil && w.onDisconnect != nil {
		w.onDisconnect()
	}
	return w.err
}

// setStallTimeout changes the time that the client has, also for a write that is under way.
func (w *frameWriter) setStallTimeout(d time.Duration) {
	w.stall.Store(int64(d))
	_ = w.conn.SetWriteDeadline(time.Now().Add(d)) // a closed connection needs no hurry
}
