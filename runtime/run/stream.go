package run

import (
	"cmp"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A stream is one of the program's outputs on its way to the caller: kept in memory for a caller
// that waits for the result, or delivered as it arrives to a streaming caller. It counts every byte
// and keeps at most limit.
type stream struct {
	file    *os.File
	limit   int64
	maxKept int64 // maximum that is kept
	total   int64 // written by the program
	kept    []byte
	cut     bool   // more was written than is kept
	tail    []byte // the last bytes that the program wrote, at most maxTail
	ended   bool   // end of file was seen

	small     int  // number of consecutive small reads
	throttled bool // until the slot's throttle timer expires

	delivery *delivery // nil: the output is kept
}

// maxTail is how much of a stream's end is kept, even if the rest is delivered.
const maxTail = 4 << 10

// over reports whether the program wrote more than it may.
func (s *stream) over() bool { return s.total > s.limit }

// Outputs are stdout and stderr of one run.
type Outputs [2]stream

// NewOutputs prepares both streams of a plan. wake wakes the supervisor when a caller has taken a
// chunk.
func NewOutputs(streams Streams, p *plan.Run, wake linux.Eventfd) *Outputs {
	limit := int64(p.Limits.Output)
	var o Outputs
	for i := range o {
		o[i] = stream{limit: limit, maxKept: min(limit, int64(cmp.Or(p.MaxKept[i], maxRetainedOutput)))}
	}
	for i, w := range []io.Writer{streams.Stdout, streams.Stderr} {
		if w != nil {
			o[i].delivery, o[i].maxKept = deliver(w, wake), limit // what the pipe holds at the end is kept, up to limit
		}
	}
	return &o
}

// ended reports whether no process can write to either stream any more.
func (o *Outputs) ended() bool { return o[0].ended && o[1].ended }

// Finish delivers the rest to a streaming caller, and waits for that. It may be called again.
func (o *Outputs) Finish() {
	for i := range o {
		if s := &o[i]; s.delivery != nil {
			s.delivery.finish(s.kept)
			s.delivery, s.kept = nil, nil
		}
	}
}

// appendLine appends a line of brig's to what the program wrote. The program has ended, and finish
// delivers the line.
func (s *stream) appendLine(line string) { s.kept = append(s.kept, line...) }

// read reads what is available, at most one chunk, into memory or directly to a streaming caller.
// more is false when nothing is left for now; the caller must check ended.
func (s *stream) read(buf []byte, keep bool) (more bool, err error) {
	var n int
	err = linux.IgnoringEINTR(func() (err error) { n, err = unix.Read(linux.FD(s.file), buf); return err })
	switch {
	case errors.Is(err, unix.EAGAIN):
		return false, nil
	case err != nil:
		return false, os.NewSyscallError("read output", err)
	case n == 0:
		s.ended = true
		return false, nil
	}

	allowed := min(max(s.limit-s.total, 0), int64(n))
	s.total += int64(n)
	s.tail = append(s.tail, buf[max(0, n-maxTail):n]...)
	if over := len(s.tail) - maxTail; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	if s.delivery == nil || keep {
		fits := min(allowed, s.maxKept-int64(len(s.kept)))
		s.cut = s.cut || fits < allowed
		s.append(buf[:fits])
	} else if allowed > 0 {
		s.delivery.send(buf[:allowed])
	}

	return true, nil
}

// append keeps b. The buffer doubles when it must grow, but never beyond what may be kept.
func (s *stream) append(b []byte) {
	if need := len(s.kept) + len(b); need > cap(s.kept) {
		grown := make([]byte, len(s.kept), min(int64(max(need, 2*cap(s.kept))), max(s.maxKept, int64(need))))
		copy(grown, s.kept)
		s.kept = grown
	}
	s.kept = append(s.kept, b...)
}

// busy reports whether the last chunk is still being delivered. Reading on would only accumulate
// what the caller does not take, so the program waits instead.
func (s *stream) busy() bool { return s.delivery != nil && s.delivery.busy() }

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
