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

// A feed holds the events of one run for those who read them as they come, or later.
// It keeps the last feedMax bytes at least. Beyond that, what every reader has taken
// goes; while one has not, the run waits for him; when nobody reads, the oldest go,
// and who asks for them later is told so.
type feed struct {
	mu      sync.Mutex
	events  []event       // guarded by mu; without holes
	last    int64         // guarded by mu; number of the last event
	size    int           // guarded by mu; bytes of events
	ended   bool          // guarded by mu; there will be no more
	readers []*reader     // guarded by mu
	most    int           // guarded by mu; bytes of events that are kept; feedMax where there is room
	more    func() bool   // finds room for feedMax
	changed chan struct{} // guarded by mu; closed and replaced when any of these change
}

// feedMax holds what a connection that broke may have had in its buffers.
const feedMax = 4 << 20

// newFeed makes a feed of a little, and of feedMax when that is needed and more finds room.
func newFeed(more func() bool) *feed {
	return &feed{most: bigAnswer, more: more, changed: make(chan struct{})}
}

func (f *feed) change() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// encoded is the JSON of what an event tells. A result's output stays where it is, for all
// who are told it.
func encoded(v any) *api.Encoding {
	data, err := api.Encode(v)
	if err != nil {
		panic(err) // only types of ours
	}
	return data
}

// put adds an event; it waits for readers who are behind, until ctx is done.
func (f *feed) put(ctx context.Context, name api.EventName, v any) {
	data := encoded(v)
	size := int(data.Len())
	f.mu.Lock()
	if f.size+size > f.most && f.most < feedMax && f.more() {
		f.most = feedMax
	}
	for f.size+size > f.most && !f.trim(size) {
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			f.mu.Lock()
			f.readers = nil // too slow for a run that has been canceled
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

// trim makes room, and reports whether there is enough.
func (f *feed) trim(more int) bool {
	read := f.last
	for _, r := range f.readers {
		read = min(read, r.after)
	}
	n := 0
	for n < len(f.events) && f.events[n].id <= read && f.size+more > f.most {
		f.size -= int(f.events[n].data.Len())
		n++
	}
	f.events = append([]event(nil), f.events[n:]...)
	return f.size+more <= f.most || len(f.events) == 0
}

func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.ended = true
		f.change()
	}
}

// A reader takes events in their order.
type reader struct {
	feed  *feed
	after int64 // the last one taken; guarded by feed.mu
}

// read begins after an event that was had before; 0: from the start.
func (f *feed) read(after int64) *reader {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &reader{f, min(after, f.last)}
	f.readers = append(f.readers, r)
	return r
}

func (r *reader) close() {
	f := r.feed
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

// over reports that there is no more to take, now or later.
func (r *reader) over() bool {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended && r.after >= f.last
}

// next gives events after the last taken, which are thereby taken, and how many were lost
// before them. They are few, or one: who is slow has them although the feed has dropped
// them. Without events, the feed has ended, or ctx is done.
func (r *reader) next(ctx context.Context) (events []event, lost int64) {
	f := r.feed
	for {
		f.mu.Lock()
		changed, ended := f.changed, f.ended
		for i, e := range f.events {
			if e.id > r.after {
				n := i + 1
				for size := e.data.Len(); n < len(f.events) && size+f.events[n].data.Len() <= bigAnswer; n++ {
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

// A runes hands bytes on in pieces that end where a character does: a piece of half
// a character would reach the reader as binary.
type runes struct {
	put  func(api.Bytes)
	half []byte
}

func (r *runes) Write(p []byte) (int, error) {
	n := len(p)
	if len(r.half) > 0 {
		p = append(r.half, p...)
		r.half = nil
	}
	whole := len(p) - api.Bytes(p).Unfinished()
	if whole < len(p) {
		r.half = append([]byte(nil), p[whole:]...)
	}
	if whole > 0 {
		r.put(append(api.Bytes(nil), p[:whole]...)) // the caller uses p again
	}
	return n, nil
}

// flush hands on what never became a character.
func (r *runes) flush() {
	if len(r.half) > 0 {
		r.put(r.half)
		r.half = nil
	}
}
