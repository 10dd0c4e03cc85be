package gateway

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
)

// A sessionBook says which session is whose. The ids are also in a file, so that what
// a killed service left with the agent is found and ended by the next.
type sessionBook struct {
	path string // of the file; empty: there is none

	mu    sync.Mutex
	all   map[string]booked   // guarded by mu
	left  []string            // guarded by mu; of an earlier service, not known to have ended
	ended map[string][]ending // guarded by mu; of each owner, the latest last
	write sync.Mutex          // orders the file's changes
}

// An ending tells one who asks for a session that has ended what became of it.
type ending struct {
	id, why string
	at      time.Time
}

// What is remembered of ended sessions, of each owner.
const (
	endedKept = time.Hour
	endedMost = 128
)

// booked is one session, or the place kept for it.
type booked struct {
	owner    string
	labels   api.Labels
	language string
	promised api.Size      // memory, for its life
	settled  chan struct{} // closed when the place is a session's, or nobody's
}

// openSessions reads what an earlier service left.
func openSessions(path string) (b *sessionBook, left []string, err error) {
	b = &sessionBook{path: path, all: map[string]booked{}, ended: map[string][]ending{}}
	if path == "" {
		return b, nil, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil, nil
	}
	b.left = strings.Fields(string(text))
	return b, slices.Clone(b.left), err
}

// find gives a session of an owner's, or says that it has ended; others' are not found,
// nor is one that is being made.
func (b *sessionBook) find(owner, id string) (booked, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.all[id]
	if !ok || s.owner != owner || isPlace(id) {
		for _, e := range b.ended[owner] {
			if e.id == id && time.Since(e.at) < endedKept {
				return booked{}, api.Refuse(api.CodeSessionEnded, "%s", e.why)
			}
		}
		return booked{}, api.Refuse(api.CodeNotFound, "there is no session %.80q", id)
	}
	return s, nil
}

// of lists the ids of an owner's sessions.
func (b *sessionBook) of(owner string) []string {
	return b.ids(func(s booked) bool { return s.owner == owner })
}

// every lists the ids of all sessions.
func (b *sessionBook) every() []string { return b.ids(func(booked) bool { return true }) }

func (b *sessionBook) ids(are func(booked) bool) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.idsLocked(are)
}

func (b *sessionBook) idsLocked(are func(booked) bool) []string {
	var ids []string
	for id, s := range b.all {
		if !isPlace(id) && are(s) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// reserve keeps a place for a session that is about to be made, under a name that no
// id has. Of a project and task there is one at a time, unless both are empty; and room
// must have nothing against what its owner has, and all owners together. Refused, it
// says which may be in the way; where that is one still being made, settled is to be waited
// for.
func (b *sessionBook) reserve(place string, s booked, room func(own, all tally) error) (inTheWay []string, settled <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var own, all tally
	for id, other := range b.all {
		all = all.and(tally{1, other.promised})
		if other.owner != s.owner {
			continue
		}
		own = own.and(tally{1, other.promised})
		if other.labels == s.labels && s.labels != (api.Labels{}) {
			p := problem(http.StatusConflict, api.Refuse(api.CodeConflict, "project %q has a session of task %q already: use it, or end it", s.labels.Project, s.labels.Task))
			if isPlace(id) { // it has no id yet, and may never have one
				return nil, other.settled, p
			}
			p.Session = id
			return []string{id}, nil, p
		}
	}
	if err := room(own, all); err != nil {
		return b.idsLocked(func(booked) bool { return true }), nil, err
	}
	s.settled = make(chan struct{})
	b.all[place] = s
	return nil, nil, nil
}

const placePrefix = "?" // no id begins with it

func isPlace(id string) bool { return strings.HasPrefix(id, placePrefix) }

// settle puts a session in the place kept for it, with what the agent has promised it,
// and writes the file.
func (b *sessionBook) settle(place, id string, promised api.Size) error {
	b.mu.Lock()
	s := b.all[place]
	s.promised = promised
	b.all[id] = s
	delete(b.all, place)
	close(s.settled)
	b.mu.Unlock()
	return b.save()
}

// end forgets a session, but for why it ended.
func (b *sessionBook) end(id, why string) error {
	b.mu.Lock()
	if s, ok := b.all[id]; ok {
		theirs := b.ended[s.owner]
		for len(theirs) > 0 && (len(theirs) >= endedMost || time.Since(theirs[0].at) >= endedKept) {
			theirs = theirs[1:]
		}
		b.ended[s.owner] = append(theirs, ending{id, why, time.Now()})
	}
	b.mu.Unlock()
	return b.drop(id)
}

// drop forgets sessions, or places.
func (b *sessionBook) drop(ids ...string) error {
	b.mu.Lock()
	n := len(b.all) + len(b.left)
	b.left = slices.DeleteFunc(b.left, func(id string) bool { return slices.Contains(ids, id) })
	for _, id := range ids {
		if s, ok := b.all[id]; ok && isPlace(id) {
			close(s.settled)
		}
		delete(b.all, id)
	}
	changed := n != len(b.all)+len(b.left)
	b.mu.Unlock()
	if !changed {
		return nil
	}
	return b.save()
}

// save writes the file anew: whole, or not at all.
func (b *sessionBook) save() error {
	if b.path == "" {
		return nil
	}
	b.write.Lock()
	defer b.write.Unlock()
	b.mu.Lock()
	ids := append(b.idsLocked(func(booked) bool { return true }), b.left...)
	b.mu.Unlock()
	var text strings.Builder
	for _, id := range ids {
		fmt.Fprintln(&text, id)
	}
	tmp, err := os.CreateTemp(filepath.Dir(b.path), ".sessions-")
	if err != nil {
		return unsaved(err)
	}
	_, err = tmp.WriteString(text.String())
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), b.path)
	}
	if err != nil {
		return errors.Join(unsaved(err), os.Remove(tmp.Name()))
	}
	return nil
}

// unsaved tells a full disk apart, as the history does.
func unsaved(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return api.Fail(api.CodeHostExhausted, "keep the session's id: no room left on the device: free some (%w)", err)
	}
	return err
}
