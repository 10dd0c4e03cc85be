package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A ImageLock keeps an image's tree unchanged even if the image is removed in the meantime: running
// programs must not lose files of their image. It is a shared flock on the image's directory, which
// the kernel releases when the process ends.
type ImageLock struct {
	store *Store
	dir   *os.File
	path  string
}

// LockImage locks an image that Lookup returned. The error wraps ErrNotFound if the image has been
// removed since.
func (s *Store) LockImage(img Image) (_ *ImageLock, err error) {
	h := &ImageLock{store: s, path: filepath.Dir(img.Path)}
	h.dir, err = os.OpenFile(h.path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err == nil {
		err = Flock(h.dir, unix.LOCK_SH|unix.LOCK_NB)
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

// removed reports whether the store no longer has the locked tree.
func (h *ImageLock) removed() bool {
	locked, err := h.dir.Stat()
	if err != nil {
		return true
	}
	now, err := os.Stat(h.path)
	return err != nil || !os.SameFile(locked, now)
}

// Tree opens the locked tree at its current path: the image's path may no longer exist, or may be
// another tree.
func (h *ImageLock) Tree() (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH}
	n, err := unix.Openat2(int(h.dir.Fd()), "root", &how)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(h.path, "root"), Err: err}
	}
	return os.NewFile(uintptr(n), filepath.Join(h.path, "root")), nil
}

// Close unlocks the image and reports whether it has been removed in the meantime. In that case the
// store's next Clean deletes the tree.
func (h *ImageLock) Close() (removed bool, err error) {
	removed = h.removed()
	return removed, h.dir.Close()
}

// storedImageDirs are the directories in a staging directory that may contain an image that was stored.
var storedImageDirs = []string{"gone", "whole", "damaged"}

// removeUnlocked removes a staging directory. If an image in it is locked, it removes nothing, and a
// later Clean removes the directory.
func removeUnlocked(path string) error {
	for _, name := range storedImageDirs {
		dir, err := os.Open(filepath.Join(path, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		defer dir.Close()
		if err := Flock(dir, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return os.RemoveAll(path)
}
