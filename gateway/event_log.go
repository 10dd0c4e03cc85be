package gateway

import (
	"context"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// An event is one thing that happened to a run, numbered from 1.
type event struct {
	id   int64
	name api.EventName
	data *api.Encoding
}

// eventLog is the event log of one run, for clients that read events as they happen or later. It
// retains at least the last eventLogMax bytes. Beyond that, events that every reader has taken are
// dropped. While a reader has not taken them, the run waits for it. If there is no reader, the
// oldest events are dropped, and a client that asks for them later gets a gap event.
type eventLog struct {
	mu         sync.Mutex
	events     []event       // guarded by mu; numbered without gaps
	last       int64         // guarded by mu; number of the last event
	size       int           // guarded by mu; bytes of events
	ended      bool          // guarded by mu; there will be no more
	readers    []*reader     // guarded by mu
	max        int           // guarded by mu; limit of size; eventLogMax once the memory quota has space for that
	reserveMax func() bool   // reserves memory for eventLogMax
	changed    chan struct{} // guarded by mu; closed and replaced when any of these change
}

// eventLogMax is large enough for what a broken connection may have had in its buffers.
const eventLogMax = 4 << 20

// newEventLog creates an event log with a small limit. The limit becomes eventLogMax when the log needs
// that and the memory for it can be reserved.
func newEventLog(more func() bool) *eventLog {
	return &eventLog{max: largeResponseMin, reserveMax: more, changed: make(chan struct{})}
}

func (f *eventLog) change() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// encodeEvent returns the JSON of an event's data. The output in a result is not copied: all events and
// responses with it share it.
func encodeEvent(v any) *api.Encoding {
	data, err := api.Encode(v)
	if err != nil {
		panic(err) // cannot fail for the types of this module
	}
	return data
}

// put appends an event. It waits for slow readers until ctx is done.
func (f *eventLog) put(ctx context.Context, name api.EventName, v any) {
	data := encodeEvent(v)
	size := int(data.Len())
	f.mu.Lock()
	if f.size+size > f.max && f.max < eventLogMax && f.reserveMax() {
		f.max = eventLogMax
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
	f.events = append(f.events, event{f.last, name, data})
	f.size += size
	f.change()
}

// trim drops events that every reader has taken, and reports whether more bytes now fit.
func (f *eventLog) trim(more int) bool {
	read := f.last
	for _, r := range f.readers {
		read = min(read, r.after)
	}
	n := 0
	for n < len(f.events) && f.events[n].id <= read && f.size+more > f.max {
		f.size -= int(f.events[n].data.Len())
		n++
	}
	f.events = append([]event(nil), f.events[n:]...)
	return f.size+more <= f.max || len(f.events) == 0
}

func (f *eventLog) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.ended = true
		f.change()
	}
}

// A reader takes events in their order.
type reader struct {
	log   *eventLog
	after int64 // number of the last event taken; guarded by feed.mu
}

// newReader returns a reader that begins after the given event number; 0: from the start.
func (f *eventLog) newReader(after int64) *reader {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &reader{f, min(after, f.last)}
	f.readers = append(f.readers, r)
	return r
}

func (r *reader) close() {
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

// over reports whether there are no more events to take, now or later.
func (r *reader) over() bool {
	f := r.log
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended && r.after >= f.last
}

// next takes the events after the last one taken, and also returns how many were dropped before
// them. It returns only a few events at once, or a single large one: a slow reader keeps them in
// memory although the log has dropped them. If it returns no events, the log has ended or ctx is
// done.
func (r *reader) next(ctx context.Context) (events []event, lost int64) {
	f := r.log
	for {
		f.mu.Lock()
		changed, ended := f.changed, f.ended
		for i, e := range f.events {
			if e.id > r.after {
				n := i + 1
				for size := e.data.Len(); n < len(f.events) && size+f.events[n].data.Len() <= largeResponseMin; n++ {
					size += f.events[n].data.Len()
				}
				events, lost = f.events[i:n:n], e.id-r.after-1
				r.after = events[len(events)-1].id
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

// utf8Splitter forwards bytes in pieces that end at a character boundary: a piece that ends within a
// character would reach the client as binary data.
type utf8Splitter struct {
	put     func(api.Bytes)
	partial []byte
}

func (r *utf8Splitter) Write(p []byte) (int, error) {
	n := len(p)
	if len(r.partial) > 0 {
		p = append(r.partial, p...)
		r.partial = nil
	}
	whole := len(p) - api.Bytes(p).IncompleteTail()
	if whole < len(p) {
		r.partial = append([]byte(nil), p[whole:]...)
	}
	if whole > 0 {
		r.put(append(api.Bytes(nil), p[:whole]...)) // the caller reuses p
	}
	return n, nil
}

// flush forwards the bytes that never became a complete character.
func (r *utf8Splitter) flush() {
	if len(r.partial) > 0 {
		r.put(r.partial)
		r.partial = nil
	}
}
