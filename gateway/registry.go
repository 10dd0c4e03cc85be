package gateway

import (
	"container/list"
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// runID makes an id that cannot be guessed (API-27): of its 20 bytes 15 are random. The
// first five are the time, in 16 ms, so that the history's index of ids grows at its
// end instead of everywhere.
func runID() string {
	var b [20]byte
	binary.BigEndian.PutUint64(b[:], uint64(time.Now().UnixMilli()/16)<<24)
	_, _ = rand.Read(b[5:]) // never fails (crypto/rand, Go 1.24)
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// An active run is one that nobody waits for with the request open, from its
// admission until its events are forgotten.
type active struct {
	id      string
	owner   string
	labels  api.Labels
	created time.Time
	feed    *feed
	arrived *arrival // what the agent sent of it; until it is forgotten
	events  *room    // of its events; until it is done
	cancel  context.CancelFunc

	mu      sync.Mutex
	state   api.State      // guarded by mu
	usage   *api.LiveUsage // guarded by mu; the last heard of
	result  *api.Result    // guarded by mu; when done, one of these two
	problem *api.Problem   // guarded by mu
}

func (a *active) using(u api.LiveUsage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.usage = &u
}

// begin notes that the agent is asked, and whether for the first time.
func (a *active) begin() (first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first = a.state != api.Running
	a.state = api.Running
	return first
}

// A registry finds active runs. Those that are done stay for a while, so that a
// client who reconnects gets the rest of their events.
type registry struct {
	mu   sync.Mutex
	all  map[string]*active // guarded by mu
	done list.List          // guarded by mu; of kept, the oldest first
	size int                // guarded by mu; of those done
}

// The bounds of what is kept of runs that are done.
const (
	doneRuns  = 1000
	doneBytes = 64 << 20
	activeMax = 4096 // runs under way or waiting; the queue is bounded below this
)

func newRegistry() *registry { return &registry{all: map[string]*active{}} }

func (r *registry) add(a *active) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all)-r.done.Len() >= activeMax {
		return false
	}
	r.all[a.id] = a
	return true
}

// get finds a run of an owner's.
func (r *registry) get(owner, id string) *active {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.all[id]; a != nil && a.owner == owner {
		return a
	}
	return nil
}

// A kept run is done, and its events are size bytes.
type kept struct {
	*active
	size int
}

// finished ends a run's events, and forgets those of older runs that are over the
// bounds.
func (r *registry) finished(a *active) {
	a.feed.end()
	a.feed.mu.Lock()
	size := a.feed.size
	a.feed.mu.Unlock()
	a.events.leave() // doneBytes bounds them now
	r.mu.Lock()
	defer r.mu.Unlock()
	newest := r.done.PushBack(kept{a, size})
	r.size += size
	for r.done.Len() > doneRuns || r.size > doneBytes && r.done.Len() > 1 {
		old := r.done.Remove(r.dispensable(newest)).(kept)
		r.size -= old.size
		delete(r.all, old.id)
		old.arrived.leave()
	}
}

// dispensable is the oldest run, but for the newest, of the key that takes up most:
// one that has many must not have another's forgotten.
func (r *registry) dispensable(newest *list.Element) *list.Element {
	share, first := map[string]float64{}, map[string]*list.Element{}
	most := ""
	for e := r.done.Front(); e != newest; e = e.Next() {
		k := e.Value.(kept)
		if first[k.owner] == nil {
			first[k.owner] = e
		}
		share[k.owner] += 1/float64(doneRuns) + float64(k.size)/doneBytes
		if first[most] == nil || share[k.owner] > share[most] {
			most = k.owner
		}
	}
	return first[most]
}

// endFeeds lets every reader go home.
func (r *registry) endFeeds() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.all {
		a.feed.end()
	}
}
