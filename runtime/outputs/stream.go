package outputs

import (
	"cmp"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// MaxKept is how much of each stream a Result carries. A run may write more, up to its limit, if the caller takes
// the output as a stream while it is written.
const MaxKept = 16 * api.MiB

// A Stream is one of the program's outputs on its way to the caller: kept in memory for a caller
// that waits for the result, or delivered as it arrives to a streaming caller. It counts every byte
// and keeps at most its limit.
type Stream struct {
	File  *os.File
	Total int64  // written by the program
	Kept  []byte // for the result
	Tail  []byte // the last bytes that the program wrote, at most maxTail
	Ended bool   // end of file was seen

	Throttled bool       // until the slot's throttle timer expires
	small     SmallReads // consecutive ones

	limit    int64
	maxKept  int64     // maximum that is kept
	cut      bool      // more was written than is kept
	delivery *delivery // nil: the output is kept
}

// maxTail is how much of a stream's end is kept, even if the rest is delivered.
const maxTail = 4 << 10

// Over reports whether the program wrote more than it may.
func (s *Stream) Over() bool { return s.Total > s.limit }

// Truncated reports whether a result lacks a part of a stream: what exceeds the limit, or what
// exceeds the size that a result carries. For a test, TestResult.Cut reports the latter.
func (s *Stream) Truncated(p *plan.Run) bool { return s.Over() || s.cut && p.MaxKept[1] == 0 }

// Streams are stdout and stderr of one run.
type Streams [2]Stream

// NewStreams prepares both streams of a plan: those that are delivered have a writer. wake wakes the
// supervisor when a caller has taken a chunk.
func NewStreams(stdout, stderr io.Writer, p *plan.Run, wake linux.Eventfd) *Streams {
	limit := int64(p.Limits.Output)
	var o Streams
	for i := range o {
		o[i] = Stream{limit: limit, maxKept: min(limit, int64(cmp.Or(p.MaxKept[i], MaxKept)))}
	}
	for i, w := range []io.Writer{stdout, stderr} {
		if w != nil {
			o[i].delivery, o[i].maxKept = deliver(w, wake), limit // what the pipe holds at the end is kept, up to limit
		}
	}
	return &o
}

// Ended reports whether no process can write to either stream any more.
func (o *Streams) Ended() bool { return o[0].Ended && o[1].Ended }

// Finish delivers the rest to a streaming caller, and waits for that. It may be called again.
func (o *Streams) Finish() {
	for i := range o {
		o[i].Finish()
	}
}

// NewControl prepares the stream of what a program writes to its descriptor 4, whose writer is to. What is read of it is
// kept until Pass or Finish.
func NewControl(to io.Writer, p *plan.Run, wake linux.Eventfd) *Stream {
	limit := int64(p.Limits.Output)
	return &Stream{limit: limit, maxKept: limit, delivery: deliver(to, wake)}
}

// Pass delivers what is kept. The stream is not busy.
func (s *Stream) Pass() {
	s.delivery.send(s.Kept)
	s.Kept = s.Kept[:0]
}

// Finish delivers the rest of one stream, as that of Streams does. It may be called again, and of nil.
func (s *Stream) Finish() {
	if s != nil && s.delivery != nil {
		s.delivery.finish(s.Kept)
		s.delivery, s.Kept = nil, nil
	}
}

// AppendLine appends a line of brig's to what the program wrote. The program has ended, and Finish
// delivers the line.
func (s *Stream) AppendLine(line string) { s.Kept = append(s.Kept, line...) }

// Read reads what is available, at most one chunk, into memory or directly to a streaming caller.
// more is false when nothing is left for now; the caller must check Ended. With keep it is kept for Finish, and not delivered at once.
func (s *Stream) Read(buf []byte, keep bool) (more bool, err error) {
	var n int
	err = linux.IgnoringEINTR(func() (err error) { n, err = unix.Read(linux.FD(s.File), buf); return err })
	switch {
	case errors.Is(err, unix.EAGAIN):
		return false, nil
	case err != nil && !errors.Is(err, unix.EIO):
		return false, os.NewSyscallError("read output", err)
	case n <= 0: // EIO is the end of a terminal: no process has it open any more
		s.Ended = true
		return false, nil
	}

	allowed := min(max(s.limit-s.Total, 0), int64(n))
	s.Total += int64(n)
	s.Tail = append(s.Tail, buf[max(0, n-maxTail):n]...)
	if over := len(s.Tail) - maxTail; over > 0 {
		s.Tail = append(s.Tail[:0], s.Tail[over:]...)
	}
	if s.delivery == nil || keep {
		fits := min(allowed, s.maxKept-int64(len(s.Kept)))
		s.cut = s.cut || fits < allowed
		s.append(buf[:fits])
	} else if allowed > 0 {
		s.delivery.send(buf[:allowed])
	}

	return true, nil
}

// append keeps b. The buffer doubles when it must grow, but never beyond what may be kept.
func (s *Stream) append(b []byte) {
	if need := len(s.Kept) + len(b); need > cap(s.Kept) {
		grown := make([]byte, len(s.Kept), min(int64(max(need, 2*cap(s.Kept))), max(s.maxKept, int64(need))))
		copy(grown, s.Kept)
		s.Kept = grown
	}
	s.Kept = append(s.Kept, b...)
}

// Busy reports whether the last chunk is still being delivered. Reading on would only accumulate
// what the caller does not take, so the program waits instead.
func (s *Stream) Busy() bool { return s.delivery != nil && s.delivery.busy() }

// A delivery writes chunks to a caller in a separate goroutine, so that a caller that reads nothing
// stops the program's output and not the clocks. It holds one chunk.
type delivery struct {
	w      io.Writer
	wake   linux.Eventfd // signalled after each chunk
	chunks chan []byte   // at most one ahead of the one being written
	slots  chan struct{} // full while a chunk is being written
	done   chan struct{}
}

// deliver starts a delivery; finish ends and joins it.
func deliver(w io.Writer, wake linux.Eventfd) *delivery {
	d := &delivery{w: w, wake: wake, chunks: make(chan []byte, 1), slots: make(chan struct{}, 1),
		done: make(chan struct{})}
	go func() {
		defer close(d.done)
		var failed error
		for c := range d.chunks {
			if failed == nil {
				_, failed = d.w.Write(c) // a caller that left cancels in another way
			}
			<-d.slots
			d.wake.Wake()
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
