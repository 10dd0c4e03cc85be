package runtime

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// chunkSize is how much is read from a pipe at a time: what a pipe holds.
const chunkSize = 64 << 10

// A stream is one of the program's outputs on its way to the caller: kept in
// memory for a caller who waits for the result, delivered as it comes to one who
// is there. It counts every byte and keeps at most limit.
type stream struct {
	file  *os.File
	limit int64
	total int64 // written by the program
	kept  []byte
	ended bool // end of file was seen

	live *delivery // nil: keep
}

// over reports whether the program wrote more than it may.
func (s *stream) over() bool { return s.total > s.limit }

// outputs are stdout and stderr of one run.
type outputs [2]stream

func newOutputs(streams Streams, limit int64, wake eventfd) *outputs {
	o := &outputs{{limit: limit}, {limit: limit}}
	for i, w := range []io.Writer{streams.Stdout, streams.Stderr} {
		if w != nil {
			o[i].live = deliver(w, wake)
		}
	}
	return o
}

// finish delivers what is left to a caller who is there, and waits for that. It
// may be called again.
func (o *outputs) finish() {
	for i := range o {
		if s := &o[i]; s.live != nil {
			s.live.finish(s.kept)
			s.live, s.kept = nil, nil
		}
	}
}

// read takes what is there, at most one chunk, to memory or at once to a caller
// who is there. more is false when nothing is left for now; the caller looks at
// ended.
func (s *stream) read(buf []byte, keep bool) (more bool, err error) {
	var n int
	err = ignoringEINTR(func() (err error) { n, err = unix.Read(fd(s.file), buf); return err })
	switch {
	case errors.Is(err, unix.EAGAIN):
		return false, nil
	case err != nil:
		return false, os.NewSyscallError("read output", err)
	case n == 0:
		s.ended = true
		return false, nil
	}
	room := min(max(s.limit-s.total, 0), int64(n))
	s.total += int64(n)
	if s.live == nil || keep {
		s.kept = append(s.kept, buf[:room]...)
	} else if room > 0 {
		s.live.send(buf[:room])
	}
	return true, nil
}

// busy reports whether the last chunk is still being delivered: reading on would
// only pile up what the caller does not take, so the program waits instead.
func (s *stream) busy() bool { return s.live != nil && s.live.busy() }

// A delivery writes chunks to a caller in a goroutine of its own, so that one who
// takes nothing stops the program's output and not the clocks. It holds one chunk.
type delivery struct {
	w      io.Writer
	wake   eventfd       // told after each chunk
	chunks chan []byte   // at most one ahead of the one being written
	slots  chan struct{} // full while a chunk is under way
	done   chan struct{}
}

// deliver starts one; finish ends and joins it.
func deliver(w io.Writer, wake eventfd) *delivery {
	d := &delivery{w: w, wake: wake, chunks: make(chan []byte, 1), slots: make(chan struct{}, 1), done: make(chan struct{})}
	go func() {
		defer close(d.done)
		var failed error
		for c := range d.chunks {
			if failed == nil {
				_, failed = d.w.Write(c) // a caller who left cancels by another way
			}
			<-d.slots
			d.wake.wake()
		}
	}()
	return d
}

// send hands over a copy of b, waiting while an earlier chunk is under way.
func (d *delivery) send(b []byte) {
	d.slots <- struct{}{}
	d.chunks <- append([]byte(nil), b...)
}

func (d *delivery) busy() bool { return len(d.slots) > 0 }

// finish sends the rest and returns when everything is written or has failed.
func (d *delivery) finish(rest []byte) {
	if len(rest) > 0 {
		d.send(rest)
	}
	close(d.chunks)
	<-d.done
}
