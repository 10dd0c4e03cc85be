package sessions

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// A sessionRegistry is the registry of sessions and their owners. The ids are also written to a file,
// so that the next process finds and ends the sessions that a killed gateway left in the agent.
type sessionRegistry struct {
	path string          // of the file; empty: no file
	gone func(id string) // called for a session that is dropped; nil: nobody asks

	mu         sync.Mutex
	all        map[string]sessionEntry // guarded by mu
	stale      []string                // guarded by mu; sessions of an earlier process that are not known to have ended
	tombstones map[string][]tombstone  // guarded by mu; by owner, the latest last
	changed    chan struct{}           // guarded by mu; closed when something has ended; nil: nobody waits for that
	write      sync.Mutex              // serializes changes of the file
}

// tombstone is a tombstone: it records why a session ended, for requests that come later.
type tombstone struct {
	id, why string
	at      time.Time
}

// The retention of tombstones, for each owner.
const (
	tombstoneTTL  = time.Hour
	maxTombstones = 128
)

// sessionEntry is one session, or a reservation for one that is being created.
type sessionEntry struct {
	owner    string
	labels   api.Labels
	language string
	memory   api.Size      // memory, reserved as long as it lives
	resolved chan struct{} // closed when the reservation has become a session or was dropped
}

// openRegistry reads the sessions that an earlier process left.
func openRegistry(path string) (b *sessionRegistry, stale []string, err error) {
	b = &sessionRegistry{path: path, all: map[string]sessionEntry{}, tombstones: map[string][]tombstone{}}
	if path == "" {
		return b, nil, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil, nil
	}
	b.stale = strings.Fields(string(text))
	return b, slices.Clone(b.stale), err
}

// find returns a session of the owner, or the error that it has ended. A session of another owner
// is not found, nor is one that is being created.
func (r *sessionRegistry) find(owner, id string) (sessionEntry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.all[id]
	if !ok || s.owner != owner || isReservation(id) {
		for _, e := range r.tombstones[owner] {
			if e.id == id && time.Since(e.at) < tombstoneTTL {
				return sessionEntry{}, api.Refuse(api.CodeSessionEnded, "%s", e.why)
			}
		}
		return sessionEntry{}, api.Refuse(api.CodeNotFound, "there is no session %.80q", id)
	}
	return s, nil
}

// ofOwner returns the ids of an owner's sessions.
func (r *sessionRegistry) ofOwner(owner string) []string {
	return r.ids(func(s sessionEntry) bool { return s.owner == owner })
}

// labeled returns the ids of an owner's sessions that e names.
func (r *sessionRegistry) labeled(owner string, e api.EndRequest) []string {
	return r.ids(func(s sessionEntry) bool { return s.owner == owner && e.Has(s.labels) })
}

// list returns the ids of all sessions.
func (r *sessionRegistry) list() []string { return r.ids(func(sessionEntry) bool { return true }) }

func (r *sessionRegistry) ids(are func(sessionEntry) bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.idsLocked(are)
}

func (r *sessionRegistry) idsLocked(are func(sessionEntry) bool) []string {
	var ids []string
	for id, s := range r.all {
		if !isReservation(id) && are(s) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// reserve makes a reservation for a session that is about to be created, under a name that no id
// can have. An owner has one session for each pair of project and task, unless both are empty. The
// quota check must accept what the owner has, and what all owners have together. If reserve
// refuses, it returns the sessions that may be the cause; if the cause is a session that is still
// being created, the caller must wait for the returned channel.
func (r *sessionRegistry) reserve(name string, s sessionEntry,
	checkQuota func(own, all sessionUsage) error) (conflicts []string, resolved <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	var own, all sessionUsage
	for id, other := range r.all {
		all = all.plus(sessionUsage{1, other.memory})
		if other.owner != s.owner {
			continue
		}

		own = own.plus(sessionUsage{1, other.memory})
		if samePlace(other.labels, s.labels) {
			p := core.Problem(http.StatusConflict,
				api.Refuse(api.CodeConflict, "project %q already has a session for task %q: use it, or end it",
					s.labels.Project, s.labels.Task))
			if isReservation(id) { // it has no id yet, and may never get one
				return nil, other.resolved, p
			}
			p.Session = id
			return []string{id}, nil, p
		}
	}

	if err := checkQuota(own, all); err != nil {
		return r.idsLocked(func(sessionEntry) bool { return true }), nil, err
	}

	s.resolved = make(chan struct{})
	r.all[name] = s
	return nil, nil, nil
}

const reservationPrefix = "?" // no id begins with this

func isReservation(id string) bool { return strings.HasPrefix(id, reservationPrefix) }

// samePlace reports whether two sessions are of one project and task, of which there may be one session. The run
// does not count: a session that an earlier run left is found, and not made a second time.
func samePlace(a, b api.Labels) bool {
	return a.Project == b.Project && a.Task == b.Task && (a.Project != "" || a.Task != "")
}

// commit replaces a reservation by the session, with the memory that the agent has reserved for it,
// and writes the file.
func (r *sessionRegistry) commit(reserved, id string, memory api.Size) error {
	r.mu.Lock()
	s := r.all[reserved]
	s.memory = memory
	r.all[id] = s
	delete(r.all, reserved)
	close(s.resolved)
	r.tell() // it may have got less memory than was reserved
	r.mu.Unlock()
	return r.save()
}

// awaitChange returns a channel that is closed when a session or a reservation ends, or changes its memory.
func (r *sessionRegistry) awaitChange() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// tell tells who waits for a change; r.mu is held.
func (r *sessionRegistry) tell() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// end removes a session and keeps a tombstone with the reason.
func (r *sessionRegistry) end(id, why string) error {
	r.mu.Lock()
	if s, ok := r.all[id]; ok {
		theirs := r.tombstones[s.owner]
		for len(theirs) > 0 && (len(theirs) >= maxTombstones || time.Since(theirs[0].at) >= tombstoneTTL) {
			theirs = theirs[1:]
		}
		r.tombstones[s.owner] = append(theirs, tombstone{id, why, time.Now()})
	}
	r.mu.Unlock()
	return r.drop(id)
}

// drop removes sessions or reservations.
func (r *sessionRegistry) drop(ids ...string) error {
	r.mu.Lock()
	n := len(r.all) + len(r.stale)
	r.stale = slices.DeleteFunc(r.stale, func(id string) bool { return slices.Contains(ids, id) })
	for _, id := range ids {
		if s, ok := r.all[id]; ok && isReservation(id) {
			close(s.resolved)
		}
		delete(r.all, id)
	}
	r.tell()

	changed := n != len(r.all)+len(r.stale)
	r.mu.Unlock()
	for _, id := range ids {
		if r.gone != nil {
			r.gone(id)
		}
	}
	if !changed {
		return nil
	}
	return r.save()
}

// save replaces the file atomically.
func (r *sessionRegistry) save() error {
	if r.path == "" {
		return nil
	}

	r.write.Lock()
	defer r.write.Unlock()

	r.mu.Lock()
	ids := append(r.idsLocked(func(sessionEntry) bool { return true }), r.stale...)
	r.mu.Unlock()
	var text strings.Builder
	for _, id := range ids {
		fmt.Fprintln(&text, id)
	}

	tmp, err := os.CreateTemp(filepath.Dir(r.path), ".sessions-")
	if err != nil {
		return saveError(err)
	}

	_, err = tmp.WriteString(text.String())
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), r.path)
	}
	if err != nil {
		return errors.Join(saveError(err), os.Remove(tmp.Name()))
	}
	return nil
}

// saveError gives the error of a full disk its own code, as the history does.
func saveError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return api.Fail(api.CodeHostExhausted,
			"store the session's id: no space left on the device: free some space (%w)", err)
	}
	return err
}
