package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A Hold keeps an image's tree as it is, though the image is removed meanwhile: its
// programs must not be told that files of theirs are gone. It is a shared flock on the
// image's directory, which the kernel drops with the process.
type Hold struct {
	store *Store
	dir   *os.File
	path  string
}

// Hold holds an image that Lookup gave. The error wraps ErrNotFound when it has been
// removed since.
func (s *Store) Hold(img Image) (_ *Hold, err error) {
	h := &Hold{store: s, path: filepath.Dir(img.Path)}
	h.dir, err = os.OpenFile(h.path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err == nil {
		err = flock(h.dir, unix.LOCK_SH|unix.LOCK_NB)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, s.notFound(img.Digest)
	case err != nil && !errors.Is(err, unix.EWOULDBLOCK):
		return nil, fmt.Errorf("hold image: %w", errors.Join(err, h.dir.Close()))
	case err != nil || h.removed(): // it is being deleted, or was between the two calls
		return nil, errors.Join(s.notFound(img.Digest), h.dir.Close())
	}
	return h, nil
}

// removed reports whether the store has the held tree no more.
func (h *Hold) removed() bool {
	held, err := h.dir.Stat()
	if err != nil {
		return true
	}
	now, err := os.Stat(h.path)
	return err != nil || !os.SameFile(held, now)
}

// Tree opens the held tree, wherever it is by now: at the image's path there may be none,
// or another.
func (h *Hold) Tree() (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH}
	n, err := unix.Openat2(int(h.dir.Fd()), "root", &how)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(h.path, "root"), Err: err}
	}
	return os.NewFile(uintptr(n), filepath.Join(h.path, "root")), nil
}

// Close lets go of the image, and says whether it has been removed meanwhile: then the
// store's next Clean deletes the tree.
func (h *Hold) Close() (removed bool, err error) {
	removed = h.removed()
	return removed, h.dir.Close()
}

// The directories below a work directory that may hold an image that was stored.
var retired = []string{"gone", "whole", "damaged"}

// removeUnheld removes a work directory, unless somebody holds an image in it: then a
// later Clean does.
func removeUnheld(path string) error {
	for _, name := range retired {
		dir, err := os.Open(filepath.Join(path, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		defer dir.Close()
		if err := flock(dir, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return removePath(path)
}
