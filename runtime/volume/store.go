// Package volume keeps the volumes of sessions: files with a file system, which outlive the sessions
// that mount them (adr 0010).
package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// Config says where volumes are kept, and how many bytes they may take.
type Config struct {
	Dir   string   // empty: no volumes
	Most  api.Size // limit of one; zero: api.VolumeSizeMax
	Total api.Size // limit of all; zero: four times Most
	Rate  api.Size // bytes a second that a session may read from its volume, and write to it; zero: no limit
}

// A Store has the volumes of a host. Each is a file that contains an ext4 file system. The file lies
// in the directory of its owner and is attached to a loop device while sessions use it.
type Store struct {
	Config
	kernel string // release, for error messages about what it lacks
	log    *slog.Logger

	mu   sync.Mutex
	used map[string]*usedVolume // guarded by mu; by path
}

// A usedVolume is a volume that sessions use, or that is being attached or detached.
type usedVolume struct {
	at        *attachment // nil: it has no loop device yet
	users     []*Mounted
	changing  chan struct{} // not nil: being attached or detached; closed when that is done
	lockError error         // another agent has the volume, as the user that was to attach it found
}

// A Mounted volume is a session's use of one: two detached mounts of its file system. SessionMount,
// which shows a cell's ids, is the one that the session's shell attaches. AgentMount, which shows
// the ids on disk, is the one through which the agent works on files.
type Mounted struct {
	store                    *Store
	path, name, run          string // run is empty for a volume that lasts
	session                  string // id of the session
	Size                     api.Size
	Device                   uint64 // number of the loop device
	readOnly, shared         bool
	removing                 bool // used to remove the volume, not by a session
	SessionMount, AgentMount *os.File
	left                     chan struct{} // guarded by store.mu; not nil: its session is ending; closed when the volume is released
}

// New makes a Store. kernel is the release, for errors.
func New(v Config, kernel string, log *slog.Logger) *Store {
	v.Most = cmp.Or(v.Most, api.VolumeSizeMax)
	v.Total = cmp.Or(v.Total, 4*v.Most)
	return &Store{Config: v, kernel: kernel, log: log, used: map[string]*usedVolume{}}
}

// Ceiling is the limit of all volumes together, in bytes; zero: there are no volumes.
func (s *Store) Ceiling() int64 {
	if s.Dir == "" {
		return 0
	}
	return int64(s.Total)
}

// Check refuses what can be refused before anything is made.
func (s *Store) Check(ask *api.VolumeRequest) error {
	switch {
	case ask == nil:
	case s.Dir == "":
		return api.Refuse(api.CodeUnsupported,
			"volumes are disabled on this agent: have the operator name a directory with brigd --volumes")
	case ask.Size > s.Most:
		return api.Refuse(api.CodeAboveCeiling,
			"volume.size is %s, above this agent's ceiling of %s: ask for less, or have the operator raise it (brigd "+
				"--max-volume)", ask.Size, s.Most)
	}
	return nil
}

// Mount gives a session the volume that it requests, and makes it if it does not exist yet. userns
// shifts the ids on disk into the session's.
func (s *Store) Mount(ctx context.Context, p *plan.Session, session string, owner api.Caller,
	userns *os.File) (_ *Mounted, err error) {
	name, ask := p.Ask.VolumeName(), p.Ask.Volume
	path, err := s.path(owner.UID, name, p.Ask.VolumeRun())
	if err != nil {
		return nil, err
	}

	m := &Mounted{store: s, path: path, name: name, run: p.Ask.VolumeRun(), session: session,
		readOnly: ask.ReadOnly, shared: ask.Shared}
	u, first, err := s.join(ctx, m)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()

	if first {
		at, aerr := s.attach(ctx, path, name, ask)
		if aerr == nil {
			u.at = at
			aerr = m.mount(at.device, userns)
		}
		if err = aerr; err == nil && !m.readOnly {
			err = removeLostFound(m.AgentMount)
		}
		s.attached(u, err)
	} else {
		err = m.mount(u.at.device, userns)
	}

	if err != nil {
		return nil, err
	}

	m.Size, m.Device = u.at.size, u.at.number
	if ask.Size != 0 && roundVolume(ask.Size) != u.at.size {
		return nil, api.Refuse(api.CodeConflict,
			"volume %q exists already and has %s, not %s: leave the size out, or remove the volume first",
			name, u.at.size, ask.Size)
	}

	return m, nil
}

// join registers a user of a volume and waits for users that are leaving. first is true for the one
// that must attach the volume and then report that with attached.
func (s *Store) join(ctx context.Context, m *Mounted) (u *usedVolume, first bool, err error) {
	for {
		s.mu.Lock()
		u := s.used[m.path]
		var wait <-chan struct{}
		switch {
		case u == nil:
			u = &usedVolume{users: []*Mounted{m}, changing: make(chan struct{})}
			s.used[m.path] = u
			s.mu.Unlock()
			return u, true, nil

		case u.changing != nil:
			wait = u.changing
		default:
			if wait, err = u.admits(m); err != nil {
				s.mu.Unlock()
				return nil, false, err
			}
			if wait == nil {
				u.users = append(u.users, m)
				s.mu.Unlock()
				return u, false, nil
			}
		}

		s.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}

		s.mu.Lock()
		err = u.lockError
		s.mu.Unlock()
		if err != nil {
			return nil, false, err // all waiting users get this error, instead of trying one after the other
		}
	}
}

// admits implements the rule: only one user may write, unless all writers agreed to share. A user
// that conflicts but is leaving is no reason to refuse: leaves is then a channel that is closed
// when that user has left.
func (u *usedVolume) admits(m *Mounted) (leaves <-chan struct{}, err error) {
	if m.readOnly {
		return nil, nil
	}

	for _, other := range u.users {
		var e *api.Error
		switch {
		case m.removing:
			e = api.Refuse(api.CodeConflict, "session %s has volume %q: end it first", other.session, m.name)
		case !other.readOnly && !(m.shared && other.shared):
			e = api.Refuse(api.CodeConflict,
				"session %s writes to volume %q: end it, request read-only access, or make both sessions with "+
					"volume.shared (--volume-shared)", other.session, m.name)
		default:
			continue
		}

		if other.left == nil {
			e.Session = other.session
			return nil, e
		}

		leaves = other.left
	}

	return leaves, nil
}

// MarkLeaving marks the session as ending: a successor waits for the volume from now on.
func (m *Mounted) MarkLeaving() {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	m.left = make(chan struct{})
}

// CheckFree refuses a session whose volume another one uses, before anything is made for it. A session
// that CheckFree allows may still be refused by join.
func (s *Store) CheckFree(p *plan.Session, owner api.Caller) error {
	path, err := s.path(owner.UID, p.Ask.VolumeName(), p.Ask.VolumeRun())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.used[path]
	if u == nil || u.changing != nil {
		return nil
	}
	_, err = u.admits(&Mounted{name: p.Ask.VolumeName(), readOnly: p.Ask.Volume.ReadOnly, shared: p.Ask.Volume.Shared})
	return err
}

// attached finishes the attachment that join began. On success others may join. On failure the one
// user, which is still registered, must detach.
func (s *Store) attached(u *usedVolume, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var e *api.Error
	switch {
	case err == nil:
		close(u.changing)
		u.changing = nil
	case errors.As(err, &e) && e.Code == api.CodeConflict:
		u.lockError = err
	}
}

// Close ends a session's use of its volume. If it was the last user, nothing of the volume except
// its file is left on the host when Close returns.
func (m *Mounted) Close() error {
	var err error
	for _, f := range []*os.File{m.SessionMount, m.AgentMount} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}

	s := m.store
	s.mu.Lock()
	u := s.used[m.path]
	u.users = slices.DeleteFunc(u.users, func(other *Mounted) bool { return other == m })
	if m.left != nil {
		defer close(m.left) // after detach has closed changing, or if there is no such channel
	}
	if len(u.users) > 0 {
		s.mu.Unlock()
		return err
	}
	if u.changing == nil {
		u.changing = make(chan struct{})
	}

	s.mu.Unlock()
	return errors.Join(err, s.detach(m.path, u))
}

// detach waits until the kernel has written a volume out and released its loop device, if this agent
// had attached it.
func (s *Store) detach(path string, u *usedVolume) (err error) {
	if u.at != nil {
		err = u.at.loop.Close()
		if ferr := waitUnlocked(path, detachTimeout); ferr != nil {
			err = errors.Join(err, fmt.Errorf("volume %s is still attached: %w", path, ferr))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.used, path)
	close(u.changing)
	return err
}

// List describes an owner's volumes.
func (s *Store) List(c api.Caller) ([]api.Volume, error) {
	out := []api.Volume{}
	found, err := s.files(c.UID)
	if err != nil {
		return out, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	for _, f := range found {
		if u := s.used[f.path]; u != nil {
			for _, m := range u.users {
				if !m.removing {
					f.Sessions = append(f.Sessions, m.session)
				}
			}
		}
		out = append(out, f.Volume)
	}

	slices.SortFunc(out, func(a, b api.Volume) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Run, b.Run))
	})
	return out, nil
}

// Remove removes a volume that no session uses: the temporary one of a run, or, if run is empty, the one that lasts.
func (s *Store) Remove(ctx context.Context, c api.Caller, name, run string) error {
	path, err := s.path(c.UID, name, run)
	if err != nil {
		return err
	}
	m := &Mounted{store: s, path: path, name: name, removing: true}
	if _, _, err := s.join(ctx, m); err != nil {
		return err
	}
	return errors.Join(unlinkVolume(path, name), m.Close())
}
