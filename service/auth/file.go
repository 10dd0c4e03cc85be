package auth

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"
)

// A keyFile is the source of keys. It stays open: a service that was started as root can read again
// what root wrote into it, but cannot open it again.
type keyFile struct {
	path   string
	file   *os.File  // the file that was read last
	loaded fileStamp // its stamp at that time, or when reading failed
	polled fileStamp // the stamp at the last poll
}

// A fileStamp changes whenever the file changes or is replaced. The zero value means that there is
// no file.
type fileStamp struct {
	dev, inode    uint64
	size, changed int64
}

func stampOf(st fs.FileInfo) fileStamp {
	sys := st.Sys().(*syscall.Stat_t)
	return fileStamp{sys.Dev, sys.Ino, sys.Size, sys.Ctim.Nano()}
}

// openKeyFile opens the file without blocking: a FIFO in its place would otherwise block the
// service forever, so that it could neither read its keys again nor stop (TestKeysAreReadAgain).
func openKeyFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// readKeyFile reads the keys of an open file.
func readKeyFile(path string, f *os.File) ([]Key, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("keys file %s is not a regular file", path)
	}
	if st.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("keys file %s has mode %04o and others can read it: chmod 640 it", path, st.Mode().Perm())
	}

	raw, err := io.ReadAll(io.NewSectionReader(f, 0, 4<<20))
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}

	k, err := ParseKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k.List(), nil
}

// A Change lists the names of the keys that differ in a file that was read again.
type Change struct{ Added, Removed, Changed []string }

// Reload loads the keys of a file that has changed, once its stamp is the same in two polls: the
// writer may not be done before. The error for an unreadable file is returned once, and the loaded
// keys stay valid.
func (k *Keys) Reload() (*Change, error) {
	c, err := k.loadChanged()
	switch {
	case err != nil && k.unreadSince.Load() == nil:
		now := time.Now()
		k.unreadSince.Store(&now)
	case c != nil:
		k.unreadSince.Store(nil)
	}
	return c, err
}

// Unread returns since when the file is unreadable; zero: it is readable, or there is none.
func (k *Keys) Unread() time.Time {
	if k == nil {
		return time.Time{}
	}
	if since := k.unreadSince.Load(); since != nil {
		return *since
	}
	return time.Time{}
}

func (k *Keys) loadChanged() (*Change, error) {
	f := k.file
	if f == nil {
		return nil, nil
	}

	now, replaced, err := f.stat()
	stable := now == f.polled && now != f.loaded
	f.polled = now
	if !stable {
		return nil, nil
	}

	f.loaded = now
	if err != nil {
		return nil, err
	}

	from := f.file
	if replaced {
		if from, err = openKeyFile(f.path); err != nil {
			return nil, err
		}
	}

	list, err := readKeyFile(f.path, from)
	if errors.Is(err, errNoKeys) { // the last key was removed
		list, err = []Key{}, nil
	}
	if err != nil {
		if replaced {
			err = errors.Join(err, from.Close())
		}
		return nil, err
	}
	if replaced {
		if err := f.file.Close(); err != nil {
			return nil, err
		}
		f.file = from
	}

	c := difference(k.List(), list)
	k.all.Store(&list)
	return c, nil
}

// stat returns the current stamp of the file at the path, and whether it is another file than the
// open one. The zero stamp stands for an error.
func (f *keyFile) stat() (now fileStamp, replaced bool, err error) {
	open, err := f.file.Stat()
	if err != nil {
		return fileStamp{}, false, err
	}
	there, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrPermission) && open.Sys().(*syscall.Stat_t).Nlink > 0: // this process may not access the path
		return stampOf(open), false, nil
	case err != nil:
		return fileStamp{}, false, err
	}
	return stampOf(there), !os.SameFile(open, there), nil
}

func difference(old, now []Key) *Change {
	c := new(Change)
	for _, k := range now {
		i := slices.IndexFunc(old, func(o Key) bool { return o.Name == k.Name })
		if i < 0 {
			c.Added = append(c.Added, k.Name)
		} else if old[i] != k {
			c.Changed = append(c.Changed, k.Name)
		}
	}

	for _, k := range old {
		if !slices.ContainsFunc(now, func(n Key) bool { return n.Name == k.Name }) {
			c.Removed = append(c.Removed, k.Name)
		}
	}

	return c
}

// Replaceable returns the reason why a file that replaces this one could not be read; nil: it
// could.
func (k *Keys) Replaceable() error {
	if k.file == nil {
		return nil
	}
	f, err := openKeyFile(k.file.path)
	if err != nil {
		return err
	}
	return f.Close()
}

// Close closes the file.
func (k *Keys) Close() error {
	if k.file == nil {
		return nil
	}
	return k.file.file.Close()
}
