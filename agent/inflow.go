package agent

import (
	"errors"
	"os"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// An inflow is what a client sends to one of the pipes that its program reads: stdin, or control. That of a resident has a
// window (api.Window): a goroutine writes it, so that a pipe which is full holds up no other frame. Of others the reader of
// the frames writes it, and then the client blocks, too.
type inflow struct {
	kind   api.FrameType    // of the frames that have it
	file   *os.File         // nil: the program has no such pipe
	report func(n int)      // tells the client that so many bytes were taken; nil: there is no window
	pace   func(n int) bool // waits until so many bytes may be typed, or the run has ended; nil: it is no terminal

	mu      sync.Mutex
	changed sync.Cond // of what follows
	pending []byte    // guarded by mu; not written yet
	held    int       // guarded by mu; of the window: what is pending, or being written
	ending  bool      // guarded by mu; the file is closed when nothing is pending
	closed  bool      // guarded by mu; the file is closed, or will never be written again
}

var errWindow = errors.New("the client sent more than the window has room for")

func newInflow(kind api.FrameType, file *os.File, report func(n int)) *inflow {
	f := &inflow{kind: kind, file: file, report: report, closed: file == nil}
	f.changed.L = &f.mu
	return f
}

// brokenPipe reports whether nothing that is put can reach the program any more, and the client cannot be told.
func (f *inflow) brokenPipe() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.report == nil && !f.ending
}

// put takes what a frame has. It fails if nothing more can be written, or the client has sent what it may not.
func (f *inflow) put(b []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.ending || f.file == nil:
		return errors.New("the client sent input after its end")
	case f.report == nil:
		if f.closed {
			return os.ErrClosed
		}
		f.mu.Unlock() // close must find it while it writes
		err := f.pass(b)
		f.mu.Lock()
		return err
	case f.held+len(b) > api.Window:
		return errWindow
	}

	f.held += len(b)
	if !f.closed { // otherwise nobody reads it, and the client learns nothing: it may send no more than the window
		f.pending = append(f.pending, b...)
		f.changed.Signal()
	}
	return nil
}

// pass writes to the file; what is typed at a terminal in pieces, each in its turn.
func (f *inflow) pass(b []byte) error {
	for f.pace != nil && len(b) > typedAtOnce {
		if err := f.passPiece(b[:typedAtOnce]); err != nil {
			return err
		}
		b = b[typedAtOnce:]
	}
	return f.passPiece(b)
}

func (f *inflow) passPiece(b []byte) error {
	if f.pace != nil && !f.pace(len(b)) {
		return os.ErrClosed
	}
	_, err := f.file.Write(b)
	return err
}

// end closes the file when all that was put is written.
func (f *inflow) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ending = true
	f.changed.Signal()
	if f.report == nil {
		f.close()
	}
}

// stop closes the file now.
func (f *inflow) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ending = true
	f.close()
}

// close closes the file; f.mu is held.
func (f *inflow) close() {
	if !f.closed {
		f.closed = true
		f.pending = nil
		_ = f.file.Close() // ends a write that waits
	}
	f.changed.Signal()
}

// write writes what is put until the file is closed.
func (f *inflow) write() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.closed {
		switch {
		case len(f.pending) > 0:
			b := f.pending
			f.pending = nil
			f.mu.Unlock()
			err := f.pass(b)
			f.mu.Lock()
			if err != nil {
				f.close() // the program has closed it, or has ended
				return
			}

			f.held -= len(b)
			f.mu.Unlock()
			f.report(len(b)) // after that: the client sends more at once
			f.mu.Lock()
		case f.ending:
			f.close()
		default:
			f.changed.Wait()
		}
	}
}
