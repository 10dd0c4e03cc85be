package runtime

import (
	"cmp"
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
	keep  int64 // most of it that is kept
	total int64 // written by the program
	kept  []byte
	cut   bool   // more was written than is kept
	tail  []byte // the last of what the program wrote, at most maxTail bytes
	ended bool   // end of file was seen

	small   int  // reads of little, one after the other
	resting bool // until the slot's rest timer rings

	live *delivery // nil: keep
}

// maxTail is how much of a stream's end is kept, whoever takes the rest of it.
const maxTail = 256

// over reports whether the program wrote more than it may.
func (s *stream) over() bool { return s.total > s.limit }

// outputs are stdout and stderr of one run.
type outputs [2]stream

func newOutputs(streams Streams, p *plan, wake eventfd) *outputs {
	limit := int64(p.limits.Output)
	var o outputs
	for i := range o {
		o[i] = stream{limit: limit, keep: min(limit, int64(cmp.Or(p.keep[i], keptMost)))}
	}
	for i, w := range []io.Writer{streams.Stdout, streams.Stderr} {
		if w != nil {
			o[i].live, o[i].keep = deliver(w, wake), limit // of which the pipe's content is kept, at the end
		}
	}
	return &o
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

// say adds a line of ours to what the program wrote. The program has ended, and finish
// delivers it.
func (s *stream) say(line string) { s.kept = append(s.kept, line...) }

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
	s.tail = append(s.tail, buf[max(0, n-maxTail):n]...)
	if over := len(s.tail) - maxTail; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	if s.live == nil || keep {
		fits := min(room, s.keep-int64(len(s.kept)))
		s.cut = s.cut || fits < room
		s.append(buf[:fits])
	} else if room > 0 {
		s.live.send(buf[:room])
	}
	return true, nil
}

// append keeps b. What is kept is doubled where it has to grow, and never beyond what may
// be kept.
func (s *stream) append(b []byte) {
	if need := len(s.kept) + len(b); need > cap(s.kept) {
		grown := make([]byte, len(s.kept), min(int64(max(need, 2*cap(s.kept))), max(s.keep, int64(need))))
		copy(grown, s.kept)
		s.kept = grown
	}
	s.kept = append(s.kept, b...)
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
