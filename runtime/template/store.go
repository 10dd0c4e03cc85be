// Package template keeps the snapshots of started interpreters from which runs begin, in sealed memory
// files that disappear with the agent. It does not know how a snapshot is made (docs/templates.md).
package template

import (
	"context"
	"errors"
	"fmt"
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
	Wait time.Duration // how long a run waits for its snapshot
}

// A Store makes each snapshot once, and keeps those that were used last.
type Store struct {
	cfg     Config
	ctx     context.Context
	stop    context.CancelFunc
	making  sync.WaitGroup
	mu      sync.Mutex
	entries map[string]*entry // guarded by mu
	size    api.Size          // guarded by mu; of all snapshots that are not closed
	made    int64             // guarded by mu
	failed  int64             // guarded by mu
}

// An entry is what a store knows of one key.
type entry struct {
	now     *Snapshot     // nil: none yet
	flight  chan struct{} // closed when the making under way has ended; nil: none is under way
	why     string        // why the last making failed; empty: it did not
	retryAt time.Duration // on the monotonic clock; when to try again after a failure
	used    time.Duration // on the monotonic clock; when a run last asked for it
}

// A Snapshot is a sealed executable file. Its user calls Release when its last run has ended.
type Snapshot struct {
	Size api.Size

	file    *os.File
	store   *Store
	born    time.Duration // on the monotonic clock
	runs    int           // guarded by store.mu
	users   int           // guarded by store.mu
	dropped bool          // guarded by store.mu: closed when users is zero
	failed  string        // guarded by store.mu; why a run could not begin from it; empty: all could
}

// A ColdError says why there is no snapshot. The run then has the ordinary start.
type ColdError struct{ Why string }

func (e *ColdError) Error() string { return e.Why }

// retryAfter is the pause before a snapshot that could not be made is tried again.
const retryAfter = time.Minute

// maxEntries bounds what is remembered of keys, most of which may have failed.
const maxEntries = 256

// New returns a store. Close ends it.
func New(cfg Config) *Store {
	s := &Store{cfg: cfg, entries: map[string]*entry{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Get returns the snapshot of a key. If there is none, it is made by build, which the store
// calls once in the background; the others wait. The error is a *ColdError unless ctx has ended.
func (s *Store) Get(ctx context.Context, key string, build func(context.Context) (*os.File, error)) (*Snapshot, error) {
	deadline := time.NewTimer(s.cfg.Wait)
	defer deadline.Stop()
	for {
		n, flight, why := s.take(key, build)
		switch {
		case n != nil:
			return n, nil
		case flight == nil:
			return nil, &ColdError{why}
		}
		select {
		case <-flight:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return nil, &ColdError{fmt.Sprintf("the template was not ready within %s", s.cfg.Wait)}
		}
	}
}

// take returns the snapshot of a key and counts a user of it, or the making to wait for, or why there
// is neither. It begins a making if the snapshot is missing, or has served long enough.
func (s *Store) take(key string, build func(context.Context) (*os.File, error)) (*Snapshot, chan struct{}, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := linux.Monotonic()
	e := s.entries[key]
	if e == nil {
		s.forget(maxEntries - 1)
		e = &entry{}
		s.entries[key] = e
	}
	e.used = now
	if e.now != nil && now-e.now.born >= 2*s.cfg.Life { // unused for long: what its runs shared must not return
		s.drop(e.now)
		e.now = nil
	}
	n := e.now
	worn := n != nil && (n.runs >= s.cfg.Runs || now-n.born >= s.cfg.Life)
	if (n == nil || worn) && e.flight == nil && now >= e.retryAt && s.ctx.Err() == nil {
		e.flight = s.begin(key, build)
	}
	if n == nil {
		return nil, e.flight, e.why
	}
	n.runs++
	n.users++
	return n, nil, ""
}

// begin makes a snapshot in the background. The store's end stops it. The caller holds mu.
func (s *Store) begin(key string, build func(context.Context) (*os.File, error)) chan struct{} {
	flight := make(chan struct{})
	s.making.Go(func() {
		defer close(flight)
		f, err := build(s.ctx)
		s.end(key, f, err)
	})
	return flight
}

// end records what became of a making.
func (s *Store) end(key string, f *os.File, err error) {
	var size int64
	if err == nil {
		size, err = fileSize(f)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e == nil { // forgotten meanwhile
		e = &entry{}
		s.entries[key] = e
	}
	e.flight = nil
	if err == nil && !s.room(key, api.Size(size)) {
		err = errors.Join(fmt.Errorf("the template has %s, and the agent keeps %s of templates: raise brigd --template-memory", api.Size(size), s.cfg.Max), f.Close())
	}
	if err != nil {
		e.why, e.retryAt = "no template could be made: "+err.Error(), linux.Monotonic()+retryAfter
		s.failed++
		return
	}
	if e.now != nil {
		s.drop(e.now)
	}
	e.why, e.retryAt = "", 0
	e.now = &Snapshot{Size: api.Size(size), file: f, store: s, born: linux.Monotonic()}
	s.size += e.now.Size
	s.made++
}

// room makes room for a snapshot: those that no run uses go first in the order of their last use. It
// reports whether there is enough. The caller holds mu.
func (s *Store) room(key string, size api.Size) bool {
	for s.size+size > s.cfg.Max {
		var oldest *entry
		for other, e := range s.entries {
			if other != key && e.now != nil && e.now.users == 0 && (oldest == nil || e.used < oldest.used) {
				oldest = e
			}
		}
		if oldest == nil {
			break
		}
		s.drop(oldest.now)
		oldest.now = nil
	}
	return s.size+size <= s.cfg.Max
}

// forget keeps at most n entries: those without a snapshot and without a making go. The caller holds mu.
func (s *Store) forget(n int) {
	for key, e := range s.entries {
		if len(s.entries) <= n {
			return
		}
		if e.now == nil && e.flight == nil {
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

// Fail records that a run could not begin from a snapshot: the next run has the ordinary start, and
// later a new snapshot is tried.
func (s *Store) Fail(key string, n *Snapshot, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	n.failed = why
	if e := s.entries[key]; e != nil && e.now == n {
		s.drop(n)
		e.now, e.why, e.retryAt = nil, why, linux.Monotonic()+retryAfter
	}
}

// Failed says why a run could not begin from a snapshot; empty: all could.
func (n *Snapshot) Failed() string {
	n.store.mu.Lock()
	defer n.store.mu.Unlock()
	return n.failed
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
	Why          string // of a failure that is not over; empty: there is none
}

// Stats returns the counts.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Stats{Size: s.size, Made: s.made, Failed: s.failed}
	for _, e := range s.entries {
		if e.now != nil {
			out.Kept++
		}
		if e.why != "" {
			out.Why = e.why
		}
	}
	return out
}

// Close stops what is being made and closes all snapshots. No run uses one any more.
func (s *Store) Close() error {
	s.stop()
	s.making.Wait()
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

func fileSize(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
