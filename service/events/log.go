// Package events keeps what happens to a run, for clients that read it as server-sent events, now or
// later.
package events

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// An Event is one thing that happened to a run, numbered from 1.
type Event struct {
	ID   int64
	Name api.EventName
	Data *api.Encoding
}

// Write writes an event as server-sent events have it. The JSON contains no newline. The data is not
// copied: all readers of a run's events share it, and some are slow (API-15).
func (e Event) Write(to io.Writer) error {
	if _, err := fmt.Fprintf(to, "id: %d\nevent: %s\ndata: ", e.ID, e.Name); err != nil {
		return err
	}
	if _, err := e.Data.WriteTo(to); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n\n")
	return err
}

// A Log is the event log of one run, for clients that read events as they happen or later. It
// retains at least the last MaxSize bytes. Beyond that, events that every reader has taken are
// dropped. While a reader has not taken them, the run waits for it. If there is no reader, the
// oldest events are dropped, and a client that asks for them later gets a gap event.
type Log struct {
	mu         sync.Mutex
	events     []Event       // guarded by mu; numbered without gaps
	last       int64         // guarded by mu; number of the last event
	size       int           // guarded by mu; bytes of events
	ended      bool          // guarded by mu; there will be no more
	readers    []*Reader     // guarded by mu
	free       int           // bytes that need no reserved memory
	max        int           // guarded by mu; limit of size; MaxSize once the memory quota has space for that
	reserveMax func() bool   // reserves memory for MaxSize
	changed    chan struct{} // guarded by mu; closed and replaced when any of these change
}

// MaxSize is how many bytes a Log retains. It is large enough for what a broken connection may have
// had in its buffers.
const MaxSize = 4 << 20

// NewLog creates a Log that retains free bytes. It retains MaxSize when it needs that and reserve
// reports that the memory for it has been reserved.
func NewLog(free int, reserve func() bool) *Log {
	return &Log{free: free, max: free, reserveMax: reserve, changed: make(chan struct{})}
}

func (f *Log) change() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// Encode returns the JSON of an event's data. The output in a result is not copied: all events and
// responses with it share it.
func Encode(v any) *api.Encoding {
	data, err := api.Encode(v)
	if err != nil {
		panic(err) // cannot fail for the types of this module
	}
	return data
}

// Put appends an event. It waits for slow readers until ctx is done.
func (f *Log) Put(ctx context.Context, name api.EventName, v any) {
	data := Encode(v)
	size := int(data.Len())
	f.mu.Lock()
	if f.size+size > f.max && f.max < MaxSize && f.reserveMax() {
		f.max = MaxSize
	}

	for f.size+size > f.max && !f.trim(size) {
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			f.mu.Lock()
			f.readers = nil // the run was canceled: it no longer waits for slow readers
			continue
		}
		f.mu.Lock()
	}
	defer f.mu.Unlock()

	f.last++
	f.events = append(f.events, Event{f.last, name, data})
	f.size += size
	f.change()
}

// Size returns how many bytes of events are retained.
func (f *Log) Size() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.size
}

// trim drops events that every reader has taken, and reports whether more bytes now fit.
func (f *Log) trim(more int) bool {
	read := f.last
	for _, r := range f.readers {
		read = min(read, r.after)
	}
	n := 0
	for n < len(f.events) && f.events[n].ID <= read && f.size+more > f.max {
		f.size -= int(f.events[n].Data.Len())
		n++
	}
	f.events = append([]Event(nil), f.events[n:]...)
	return f.size+more <= f.max || len(f.events) == 0
}

// End ends the log: there will be no more events.
func (f *Log) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.ended = true
		f.change()
	}
}

// A Reader takes events in their order.
type Reader struct {
	log   *Log
	after int64 // number of the last event taken; guarded by log.mu
}

// NewReader returns a Reader that begins after the given event number; 0: from the start.
func (f *Log) NewReader(after int64) *Reader {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &Reader{f, min(after, f.last)}
	f.readers = append(f.readers, r)
	return r
}

// Close ends the reading: the run no longer waits for this reader.
func (r *Reader) Close() {
	f := r.log
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, other := range f.readers {
		if other == r {
			f.readers = append(f.readers[:i], f.readers[i+1:]...)
			break
		}
	}
	f.change()
}

// Over reports whether there are no more events to take, now or later.
func (r *Reader) Over() bool {
	f := r.log
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended && r.after >= f.last
}

// Next takes the events after the last one taken, and also returns how many were dropped before
// them. It returns only a few events at once, or a single large one: a slow reader keeps them in
// memory although the log has dropped them. If it returns no events, the log has ended or ctx is
// done.
func (r *Reader) Next(ctx context.Context) (events []Event, lost int64) {
	f := r.log
	for {
		f.mu.Lock()
		changed, ended := f.changed, f.ended

		for i, e := range f.events {
			if e.ID > r.after {
				n := i + 1
				for size := e.Data.Len(); n < len(f.events) && size+f.events[n].Data.Len() <= int64(f.free); n++ {
					size += f.events[n].Data.Len()
				}
				events, lost = f.events[i:n:n], e.ID-r.after-1
				r.after = events[len(events)-1].ID
				f.change()
				break
			}
		}

		f.mu.Unlock()
		if len(events) > 0 || ended {
			return events, lost
		}

		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0
		}
	}
}
