package snapshot

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/flock"
)

// A Draft is a snapshot that is being made. Commit or Discard must follow.
type Draft struct {
	File *os.File

	store *Store
	owner Owner
	named bool // it has a temporary name
	room  int64
	full  error
}

// Begin begins a snapshot of an owner, which will be kept.
func (s *Store) Begin(o Owner) (*Draft, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	dir := s.dir(o)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, noRoom(err)
	}
	lock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer lock.Close()

	d := &Draft{store: s, owner: o, named: true}
	if d.room, d.full, err = s.room(o); err != nil {
		return nil, err
	}
	if d.File, err = os.CreateTemp(dir, newPrefix); err != nil {
		return nil, noRoom(err)
	}
	if err := flock.Try(d.File); err != nil {
		return nil, errors.Join(err, d.Discard())
	}
	return d, nil
}

// Temporary begins one that gets no name: it is gone when its file is closed.
func (s *Store) Temporary() (*Draft, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, noRoom(err)
	}
	f, err := temporary(s.Dir)
	if err != nil {
		return nil, err
	}
	return &Draft{File: f, store: s, room: int64(api.SnapshotSizeMax), full: tooLarge()}, nil
}

// temporary makes a file without a name.
func temporary(dir string) (*os.File, error) {
	n, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(n), "temporary"), nil
	}
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) {
		return nil, noRoom(os.NewSyscallError("open", err))
	}
	f, err := os.CreateTemp(dir, newPrefix)
	if err != nil {
		return nil, noRoom(err)
	}
	return f, os.Remove(f.Name())
}

// Scratch makes a file without a name for what is derived from snapshots.
func (s *Store) Scratch() (*os.File, error) { return temporary(s.Dir) }

// Writer begins its records.
func (d *Draft) Writer() (*Writer, error) { return NewWriter(d.File, d.room, d.full) }

func (s *Store) lock() (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(s.Dir, "lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, noRoom(err)
	}
	if err := flock.Lock(lock); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func tooLarge() error {
	return api.Refuse(api.CodeTooLarge, "the files take more than %s, which is the most of one snapshot: name the paths that you need, or "+
		"remove files", api.SnapshotSizeMax)
}

// room returns how many bytes one more snapshot of an owner may take, and the error for one that needs more. A space, which
// is a key of the service, gets at most half of all. The lock is held.
func (s *Store) room(o Owner) (bytes int64, full error, err error) {
	total, own, count, err := s.sweep(o)
	if err != nil {
		return 0, nil, err
	}
	if count >= api.SnapshotsMax {
		return 0, nil, api.Refuse(api.CodeTooLarge, "there are %d snapshots, which is the most: remove some (brig snapshot rm)", count)
	}

	bytes, full = int64(api.SnapshotSizeMax), tooLarge()
	if left := int64(s.Total) - total; left < bytes {
		bytes, full = left, api.Fail(api.CodeHostExhausted, "snapshots take up %s of the %s that this agent may give them, and this one "+
			"needs more than the rest: remove some (brig snapshot rm), or have the operator raise it (brigd --snapshots-total)",
			api.Size(total), s.Total)
	}
	if left := int64(s.Total)/2 - own; o.Space != "" && left < bytes {
		bytes, full = left, api.Refuse(api.CodeTooLarge, "the snapshots of this key take up %s of the %s that one key may have, and this "+
			"one needs more than the rest: remove some (brig snapshot rm)", api.Size(own), s.Total/2)
	}
	if bytes < aboutSize {
		return 0, nil, full
	}
	return bytes, full, nil
}

// Commit gives a snapshot its name. One that exists already is replaced: it has the same content.
func (d *Draft) Commit(req api.SnapshotRequest, base, language, id string, c Counts) (api.Snapshot, error) {
	life := time.Duration(req.Life)
	if life == 0 {
		life = time.Duration(api.SnapshotLife)
	}
	path := filepath.Join(d.store.dir(d.owner), strings.TrimPrefix(id, idPrefix)+suffix)
	if old, err := describe(path); err == nil && req.Name == "" {
		req.Name = old.Name
	}
	now := time.Now()
	text, err := json.Marshal(about{Name: req.Name, Base: base, Language: language, Files: c.Files, Bytes: c.Bytes,
		Created: now.Unix(), Expires: now.Add(life).Unix()})
	if err != nil || len(text)+len(magic) > aboutSize {
		return api.Snapshot{}, errors.Join(fmt.Errorf("describe the snapshot in %d bytes", len(text)), err, d.Discard())
	}
	head := make([]byte, aboutSize)
	copy(head[copy(head, magic[:]):], text)

	hexDigits := strings.TrimPrefix(id, idPrefix)
	if _, err := hex.DecodeString(hexDigits); err != nil || len(hexDigits) != 64 {
		return api.Snapshot{}, errors.Join(fmt.Errorf("the id %q", id), err, d.Discard())
	}
	if _, err := d.File.WriteAt(head, 0); err != nil {
		return api.Snapshot{}, errors.Join(noRoom(err), d.Discard())
	}
	if err := d.commit(path, c.Stored); err != nil {
		return api.Snapshot{}, errors.Join(err, d.Discard())
	}
	one, err := describe(path)
	return one.Snapshot, errors.Join(err, d.File.Close())
}

// commit checks the room again: others may have been quicker.
func (d *Draft) commit(path string, size int64) error {
	lock, err := d.store.lock()
	if err != nil {
		return err
	}
	defer lock.Close()

	if _, err := os.Lstat(path); err != nil {
		room, full, err := d.store.room(d.owner)
		if err != nil {
			return err
		}
		if size > room {
			return full
		}
	}
	return os.Rename(d.File.Name(), path)
}

// Discard removes a draft.
func (d *Draft) Discard() error {
	var err error
	if d.named {
		if err = os.Remove(d.File.Name()); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	_ = d.File.Close() // it may be closed already
	return err
}

// noRoom explains a full disk.
func noRoom(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return api.Fail(api.CodeHostExhausted, "the disk of the agent's snapshots is full, and nothing was kept: remove snapshots (brig "+
			"snapshot rm), or have the operator free space in their directory (brigd --snapshots)")
	}
	return err
}

// NoRoom explains the error of a Writer.
func NoRoom(err error) error { return noRoom(err) }
