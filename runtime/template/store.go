// Package template keeps the snapshots of started interpreters from which runs begin, in sealed memory
// files that disappear with the agent. It does not know how a snapshot is made (docs/templates.md).
package template

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// A Config bounds a store. Its zero value keeps nothing.
type Config struct {
	Max  api.Size      // of all snapshots together; zero: none are made
	Life time.Duration // after which a snapshot is made anew, so that what its runs share changes
	Runs int           // after so many runs it is made anew, too
	Wait time.Duration // how long runs wait for a snapshot, from the begin of its making
}

// A Store makes each snapshot once, and keeps those that are used most.
type Store struct {
	cfg     Config
	ctx     context.Context
	stop    context.CancelFunc
	makings sync.WaitGroup
	turn    chan struct{} // has an element while a snapshot is being made for runs that wait: one at a time
	ahead   chan struct{} // the same for a snapshot for which no run waits
	mu      sync.Mutex
	entries map[string]*entry // guarded by mu
	size    api.Size          // guarded by mu; of all snapshots that are not closed, and of the one being made
	made    int64             // guarded by mu
	failed  int64             // guarded by mu
}

// An entry is what a store knows of one key.
type entry struct {
	now     *Snapshot     // nil: none yet
	making  *Making       // nil: none is under way
	why     string        // why the last making failed; empty: it did not
	failed  int           // how many makings failed since the last snapshot that wore out
	retryAt time.Duration // on the monotonic clock; when to try again after a failure
	yielded bool          // the last making was stopped for a caller
	used    time.Duration // on the monotonic clock; when a run last asked for it
	asked   float64       // at that time: how many runs asked for it, each counted half after every demandHalves
}

// demandHalves is after how long a run that asked for a snapshot counts half of one that asks now.
const demandHalves = time.Minute

// demand is how much a snapshot is asked for at this time.
func (e *entry) demand(now time.Duration) float64 {
	return e.asked * math.Exp2(-float64(now-e.used)/float64(demandHalves))
}

// A Snapshot is a sealed executable file. Its user calls Release when its last run has ended.
type Snapshot struct {
	Size api.Size

	file    *os.File
	store   *Store
	making  *Making
	born    time.Duration // on the monotonic clock
	runs    int           // guarded by store.mu
	users   int           // guarded by store.mu
	dropped bool          // guarded by store.mu: closed when users is zero
	failed  string        // guarded by store.mu; why no run can begin from it; empty: runs can

	refused map[string]string // guarded by store.mu; why runs could not begin from it, by their settings
	tried   time.Duration     // guarded by store.mu; on the monotonic clock; when it was tried after that; zero: never
}

// A ColdError says why there is no snapshot. The run then has the ordinary start.
type ColdError struct{ Why string }

func (e *ColdError) Error() string { return e.Why }

// maxEntries bounds what is remembered of keys, most of which may have failed.
const maxEntries = 256

// New returns a store. Close ends it.
func New(cfg Config) *Store {
	s := &Store{cfg: cfg, entries: map[string]*entry{}, turn: make(chan struct{}, 1), ahead: make(chan struct{}, 1)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Get returns the snapshot of a key. If there is none, it is made by build, which the store
// calls once in the background; the others wait. The error is a *ColdError unless ctx has ended.
func (s *Store) Get(ctx context.Context, key string, build Build) (*Snapshot, error) {
	var m *Making // that the run has waited for
	for {
		n, next, why := s.take(key, build, m, false)
		m = next
		switch {
		case n != nil:
			return n, nil
		case m == nil:
			return nil, &ColdError{why}
		}

		late := time.NewTimer(m.Until - linux.Monotonic())
		select {
		case <-m.ended:
		case <-ctx.Done():
		case <-late.C: // take says so
		}

		late.Stop()
		if ctx.Err() != nil {
			s.leave(m)
			return nil, ctx.Err()
		}
	}
}

// Ready returns the snapshot of a key if there is one. If not, it is made by build in the background, as Get does it, and the
// error, a *ColdError, says so. Release ends its use.
func (s *Store) Ready(key string, build Build) (*Snapshot, error) {
	n, m, why := s.take(key, build, nil, true)
	switch {
	case n != nil:
		return n, nil
	case m != nil:
		return nil, &ColdError{notReady}
	}
	return nil, &ColdError{why}
}

// notReady is why a run does not begin from a snapshot for which it does not wait.
const notReady = "the template is being made"

// notIdle is why there is none if its making was stopped for a caller.
const notIdle = "the template is made while no caller waits for a slot or memory"

// take returns the snapshot of a key and counts a user of it, or the making to wait for, or why there
// is neither. It begins a making if the snapshot is missing, or has served long enough.
//
// The wait ends for all runs at once: if each counted its own, a making that never ends would cost
// each of them as much (TPL-08).
//
// after is the making that the run has waited for, or nil. ahead says that it does not wait.
func (s *Store) take(key string, build Build, after *Making, ahead bool) (*Snapshot, *Making, string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if after != nil {
		after.waiting-- // only now: room keeps a snapshot for those who wait for it
	}

	now := linux.Monotonic()
	e := s.entries[key]
	if e == nil {
		s.forget(maxEntries - 1)
		e = &entry{}
		s.entries[key] = e
	}
	if after == nil {
		e.asked, e.used = e.demand(now)+1, now
	}
	if e.now != nil && now-e.now.born >= 2*s.cfg.Life { // unused for long: what its runs shared must not return
		s.drop(e.now)
		e.now = nil
	}

	n := e.now
	worn := n != nil && (n.runs >= s.cfg.Runs || now-n.born >= s.cfg.Life)
	if (n == nil || worn) && e.making == nil && (now >= e.retryAt || e.yielded && !ahead) && s.ctx.Err() == nil {
		e.making = s.begin(key, build, ahead)
	}

	switch {
	case n != nil:
		n.runs++
		n.users++
		return n, nil, ""
	case e.making != nil && now >= e.making.Until:
		return nil, nil, fmt.Sprintf("the template was not ready within %s", s.cfg.Wait)
	}

	if e.making != nil && !ahead {
		e.making.waiting++
	}
	return nil, e.making, e.why
}

// forget keeps at most n entries: those without a snapshot and without a making go. The caller holds mu.
func (s *Store) forget(n int) {
	for key, e := range s.entries {
		if len(s.entries) <= n {
			return
		}
		if e.now == nil && e.making == nil {
			delete(s.entries, key)
		}
	}
}

// drop closes a snapshot when its last user has released it. The caller holds mu.
func (s *Store) drop(n *Snapshot) {
	n.dropped = true
	if n.users == 0 {
		s.size -= n.Size
		_ = n.file.Close() // a memory file: there is nothing to write back
	}
}

// Open returns a descriptor of the snapshot with a file offset of its own, in which a start that fails
// leaves the reason.
func (n *Snapshot) Open() (*os.File, error) {
	return os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", linux.FD(n.file)), os.O_RDONLY|unix.O_CLOEXEC, 0)
}

// Release ends the use of a snapshot.
func (n *Snapshot) Release() {
	n.store.mu.Lock()
	defer n.store.mu.Unlock()
	n.users--
	if n.dropped && n.users == 0 {
		n.store.size -= n.Size
		_ = n.file.Close()
	}
}

// Stats are counts for the operator: snapshots kept, their bytes, how many were made and how often one
// failed.
type Stats struct {
	Kept         int
	Size         api.Size
	Made, Failed int64
	Why          string // of a failure that is not over, of the key that was asked for last; empty: there is none
}

// Stats returns the counts.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()

	out := Stats{Size: s.size, Made: s.made, Failed: s.failed}
	var latest time.Duration
	for _, e := range s.entries {
		if e.now != nil {
			out.Kept++
		}
		if e.why != "" && e.used >= latest {
			out.Why, latest = e.why, e.used
		}
	}

	return out
}

// Close stops what is being made and closes all snapshots. No run uses one any more.
func (s *Store) Close() error {
	s.stop()
	s.makings.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, e := range s.entries {
		if e.now != nil {
			s.drop(e.now)
		}
		delete(s.entries, key)
	}
	return nil
}
