package batch

import (
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A line is a result on its way to the file.
type line struct {
	index    int64
	sequence uint64 // in the queue; zero: it did not come from there
	text     []byte
	status   api.JobStatus
	answer   api.Answer
}

// The writer waits for more lines, so that many of them need one fsync: for so long after the first one, or
// until there are so many, or as many as jobs are in flight: with a full window the workers would otherwise soon
// have nothing to do, and at the end nothing more comes.
const (
	groupTime  = 50 * time.Millisecond
	groupLines = 256
)

// A writer appends lines to an output in groups, in a goroutine of its own.
type writer struct {
	to      *Output
	wrote   chan written  // what is on disk; one receiver
	waiting int           // lines that were given to write and not received from wrote; of the receiver
	more    chan struct{} // capacity 1: there are lines, or enough of them
	stop    chan struct{}
	ended   sync.WaitGroup
	failed  bool // nothing more is written, so that no line is in the file without those before it; of loop

	mu     sync.Mutex
	lines  []line // guarded by mu
	enough bool   // guarded by mu; they are to be written now
	err    error  // guarded by mu; of lines that nobody received
}

type written struct {
	lines []line
	err   error // then no line is in the file
}

func startWriter(to *Output) *writer {
	w := &writer{to: to, wrote: make(chan written), more: make(chan struct{}, 1), stop: make(chan struct{})}
	w.ended.Go(w.loop)
	return w
}

// write has lines written. It does not wait. inFlight is the number of jobs whose lines may come soon.
func (w *writer) write(lines []line, inFlight int) {
	w.waiting += len(lines)
	w.mu.Lock()
	defer w.mu.Unlock()

	first := len(w.lines) == 0
	w.lines = append(w.lines, lines...)
	w.enough = len(w.lines) >= min(groupLines, max(inFlight, 1))
	if len(w.lines) == 0 || !first && !w.enough {
		return
	}

	select {
	case w.more <- struct{}{}:
	default: // it will be read
	}
}

// end writes what is left, and waits.
func (w *writer) end() error {
	close(w.stop)
	w.ended.Wait()
	return w.err
}

func (w *writer) take() []line {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines, w.enough = nil, false
	return lines
}

// ready reports whether lines are to be written now.
func (w *writer) ready() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enough
}

func (w *writer) loop() {
	for {
		select {
		case <-w.more:
		case <-w.stop:
			w.last()
			return
		}

		due := time.After(groupTime)
		for waits := true; waits && !w.ready(); {
			select {
			case <-w.more:
			case <-due:
				waits = false
			case <-w.stop:
				w.last()
				return
			}
		}

		lines := w.take()
		if len(lines) == 0 {
			continue
		}

		done := written{lines: lines, err: w.append(lines)}
		select {
		case w.wrote <- done:
		case <-w.stop:
			w.keep(done.err)
			w.last()
			return
		}
	}
}

// last writes what is left when nobody receives any more.
func (w *writer) last() { w.keep(w.append(w.take())) }

func (w *writer) keep(err error) {
	if err != nil {
		w.err = err
	}
}

func (w *writer) append(lines []line) error {
	if len(lines) == 0 || w.failed {
		return nil
	}

	size := 0
	for _, l := range lines {
		size += len(l.text)
	}

	all := make([]byte, 0, size)
	for _, l := range lines {
		all = append(all, l.text...)
	}

	err := w.to.append(all)
	w.failed = err != nil
	return err
}

// An order passes on lines in the order of their indexes, or at once.
type order struct {
	on   bool
	done *Recorded // lines that are in the file already
	next int64
	held map[int64]line
}

// ready returns the lines that may be written with this one.
func (o *order) ready(l line) []line {
	if !o.on {
		return []line{l}
	}

	o.held[l.index] = l
	var all []line
	for {
		for o.done.Has(o.next) {
			o.next++
		}
		one, ok := o.held[o.next]
		if !ok {
			return all
		}
		delete(o.held, o.next)
		all = append(all, one)
		o.next++
	}
}
