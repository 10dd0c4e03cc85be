package runtime

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
)

// Volumes says where volumes are kept, and how many bytes of them.
type Volumes struct {
	Dir   string   // empty: there are none
	Most  api.Size // of one; zero: api.VolumeSizeMax
	Total api.Size // of all; zero: four times Most
}

// The volumes of a host (adr 0010). Each is a file with an ext4 in it, which lies in
// the directory of its owner and is attached to a loop device while sessions have it.
type volumes struct {
	Volumes
	kernel string // release, for what it lacks
	log    *slog.Logger

	mu   sync.Mutex
	used map[string]*usedVolume // guarded by mu; by path
}

// A usedVolume is one that sessions have, or that is being attached or let go.
type usedVolume struct {
	at       *attachment // nil: it has no loop device yet
	users    []*volume
	changing chan struct{} // not nil: closed when it is attached or gone
	other    error         // another agent has it, as who was to attach it found
}

// A volume is one as a session has it: two mounts of its file system that hang
// nowhere. theirs, which shows a cell's ids, is for the session's shell to hang in;
// ours, which shows those on disk, is what we work on files with.
type volume struct {
	all              *volumes
	path, name       string
	session          string // id
	size             api.Size
	readOnly, shared bool
	alone            bool // to remove it
	theirs, ours     *os.File
	leaving          chan struct{} // guarded by all.mu; not nil: its session ends, and it is closed when it has left
}

func newVolumes(v Volumes, kernel string, log *slog.Logger) *volumes {
	v.Most = cmp.Or(v.Most, api.VolumeSizeMax)
	v.Total = cmp.Or(v.Total, 4*v.Most)
	return &volumes{Volumes: v, kernel: kernel, log: log, used: map[string]*usedVolume{}}
}

// ceiling is the most that they may take up together, in bytes; zero: there are none.
func (all *volumes) ceiling() int64 {
	if all.Dir == "" {
		return 0
	}
	return int64(all.Total)
}

// check refuses what can be refused before anything is made.
func (all *volumes) check(ask *api.VolumeRequest) error {
	switch {
	case ask == nil:
	case all.Dir == "":
		return api.Refuse(api.CodeUnsupported, "this agent keeps no volumes: have the operator name a directory with brigd --volumes")
	case ask.Size > all.Most:
		return api.Refuse(api.CodeAboveCeiling, "volume.size is %s, above this agent's ceiling of %s: ask for less, or have the operator raise it (brigd --max-volume)", ask.Size, all.Most)
	}
	return nil
}

// mount gives a session the volume that it asks for, made if there is none yet. userns
// shifts the ids on disk into the session's.
func (all *volumes) mount(ctx context.Context, p *sessionPlan, session string, owner Caller, userns *os.File) (_ *volume, err error) {
	name, ask := p.ask.VolumeName(), p.ask.Volume
	path, err := all.path(owner.UID, name)
	if err != nil {
		return nil, err
	}
	m := &volume{all: all, path: path, name: name, session: session, readOnly: ask.ReadOnly, shared: ask.Shared}
	u, first, err := all.join(ctx, m)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	if first {
		at, aerr := all.attach(ctx, path, name, ask)
		if aerr == nil {
			u.at = at
			aerr = m.hang(at.device, userns)
		}
		if err = aerr; err == nil && !m.readOnly {
			err = tidy(m.ours)
		}
		all.attached(u, err)
	} else {
		err = m.hang(u.at.device, userns)
	}
	if err != nil {
		return nil, err
	}
	m.size = u.at.size
	if ask.Size != 0 && roundVolume(ask.Size) != u.at.size {
		return nil, api.Refuse(api.CodeConflict, "volume %q is there already and has %s, not %s: leave the size out, or remove the volume first", name, u.at.size, ask.Size)
	}
	return m, nil
}

// join notes a user, who waits for those that leave. first is true for one who has to
// attach the volume, and then say so with attached.
func (all *volumes) join(ctx context.Context, m *volume) (u *usedVolume, first bool, err error) {
	for {
		all.mu.Lock()
		u := all.used[m.path]
		var wait <-chan struct{}
		switch {
		case u == nil:
			u = &usedVolume{users: []*volume{m}, changing: make(chan struct{})}
			all.used[m.path] = u
			all.mu.Unlock()
			return u, true, nil
		case u.changing != nil:
			wait = u.changing
		default:
			if wait, err = u.admits(m); err != nil {
				all.mu.Unlock()
				return nil, false, err
			}
			if wait == nil {
				u.users = append(u.users, m)
				all.mu.Unlock()
				return u, false, nil
			}
		}
		all.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		all.mu.Lock()
		err = u.other
		all.mu.Unlock()
		if err != nil {
			return nil, false, err // not each in turn shall find out
		}
	}
}

// admits is the rule: one writes, unless all who do agreed to share. Who is in the way
// and leaves is no reason to refuse: leaves is closed when he has.
func (u *usedVolume) admits(m *volume) (leaves <-chan struct{}, err error) {
	if m.readOnly {
		return nil, nil
	}
	for _, other := range u.users {
		var e *api.Error
		switch {
		case m.alone:
			e = api.Refuse(api.CodeConflict, "session %s has volume %q: end it first", other.session, m.name)
		case !other.readOnly && !(m.shared && other.shared):
			e = api.Refuse(api.CodeConflict, "session %s writes to volume %q: end it, ask to read only, or make both sessions with volume.shared (--volume-shared)", other.session, m.name)
		default:
			continue
		}
		if other.leaving == nil {
			e.Session = other.session
			return nil, e
		}
		leaves = other.leaving
	}
	return leaves, nil
}

// leave tells that the session ends: its successor waits for the volume from now on.
func (m *volume) leave() {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	m.leaving = make(chan struct{})
}

// free refuses a session whose volume another one has, before anything is made for it.
// What it allows, join may still refuse.
func (all *volumes) free(p *sessionPlan, owner Caller) error {
	path, err := all.path(owner.UID, p.ask.VolumeName())
	if err != nil {
		return err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	u := all.used[path]
	if u == nil || u.changing != nil {
		return nil
	}
	_, err = u.admits(&volume{name: p.ask.VolumeName(), readOnly: p.ask.Volume.ReadOnly, shared: p.ask.Volume.Shared})
	return err
}

// attached ends the changing that join began. Others may join; of a volume that was
// not attached the one user, who is left, lets go.
func (all *volumes) attached(u *usedVolume, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	var e *api.Error
	switch {
	case err == nil:
		close(u.changing)
		u.changing = nil
	case errors.As(err, &e) && e.Code == api.CodeConflict:
		u.other = err
	}
}

// Close ends a session's use of its volume. When it was the last, nothing of the
// volume but its file is left on the host when this returns.
func (m *volume) Close() error {
	var err error
	for _, f := range []*os.File{m.theirs, m.ours} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	all := m.all
	all.mu.Lock()
	u := all.used[m.path]
	u.users = slices.DeleteFunc(u.users, func(other *volume) bool { return other == m })
	if m.leaving != nil {
		defer close(m.leaving) // when letGo has closed changing, or none is
	}
	if len(u.users) > 0 {
		all.mu.Unlock()
		return err
	}
	if u.changing == nil {
		u.changing = make(chan struct{})
	}
	all.mu.Unlock()
	return errors.Join(err, all.letGo(m.path, u))
}

// letGo waits until the kernel has written a volume out and let go of it, if it was
// ours to write.
func (all *volumes) letGo(path string, u *usedVolume) (err error) {
	if u.at != nil {
		err = u.at.loop.Close()
		if ferr := untilFree(path, letGoTime); ferr != nil {
			err = errors.Join(err, fmt.Errorf("volume %s is still attached: %w", path, ferr))
		}
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.used, path)
	close(u.changing)
	return err
}

// list tells of an owner's volumes.
func (all *volumes) list(c Caller) ([]api.Volume, error) {
	out := []api.Volume{}
	found, err := all.files(c.UID)
	if err != nil {
		return out, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, f := range found {
		if u := all.used[f.path]; u != nil {
			for _, m := range u.users {
				if !m.alone {
					f.Sessions = append(f.Sessions, m.session)
				}
			}
		}
		out = append(out, f.Volume)
	}
	slices.SortFunc(out, func(a, b api.Volume) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// remove removes a volume that nobody has.
func (all *volumes) remove(ctx context.Context, c Caller, name string) error {
	path, err := all.path(c.UID, name)
	if err != nil {
		return err
	}
	m := &volume{all: all, path: path, name: name, alone: true}
	if _, _, err := all.join(ctx, m); err != nil {
		return err
	}
	return errors.Join(unlinkVolume(path, name), m.Close())
}

// Volumes lists the caller's.
func (h *Host) Volumes(c Caller) ([]api.Volume, error) {
	all, err := h.volumes.list(c)
	if err != nil {
		return nil, h.told(err, "")
	}
	return all, nil
}

// RemoveVolume removes one of the caller's, with all that is in it.
func (h *Host) RemoveVolume(ctx context.Context, name string, c Caller) error {
	if err := api.VolumeName(name); err != nil {
		return err
	}
	if err := h.volumes.remove(ctx, c, name); err != nil {
		return h.told(err, "")
	}
	return nil
}
