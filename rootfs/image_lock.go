package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/internal/lookup"
)

// A ImageLock keeps an image's trees unchanged even if the image is removed in the meantime: running
// programs must not lose files of their image. It is a shared flock on the image's directory, and on
// those of its layers, which the kernel releases when the process ends.
type ImageLock struct {
	store *Store
	dirs  []*os.File // the image's own, then those of its layers, lowest first
	paths []string   // of dirs, when they were opened
}

// LockImage locks an image that Lookup returned. The error wraps ErrNotFound if the image has been
// removed since.
func (s *Store) LockImage(img Image) (*ImageLock, error) {
	h := &ImageLock{store: s}
	err := h.add(filepath.Dir(img.Path))
	for _, l := range img.Layers {
		if err == nil {
			err = h.add(filepath.Dir(l.Path))
		}
	}

	if errors.Is(err, fs.ErrNotExist) {
		err = s.notFound(img.Digest)
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// LockLayer locks the tree of one layer.
func (s *Store) LockLayer(l Layer) (*ImageLock, error) {
	h := &ImageLock{store: s}
	err := h.add(filepath.Dir(l.Path))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: layer %s was removed", ErrNotFound, l.Digest)
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// How often, and after what time, a lock is tried again that another process, or an installation, holds for
// a moment to see whether the tree is in use.
const (
	lockTries = 50
	lockPause = 2 * time.Millisecond
)

// add opens and locks one directory. The error wraps fs.ErrNotExist if it is being deleted.
func (h *ImageLock) add(path string) error {
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}

	h.dirs, h.paths = append(h.dirs, dir), append(h.paths, path)
	moved := func() bool { return h.moved(len(h.dirs) - 1) }
	err = flock.TryShared(dir)
	for n := 0; errors.Is(err, flock.ErrHeld) && n < lockTries && !moved(); n++ { // of a tree that stays: see Store.inUse
		time.Sleep(lockPause)
		err = flock.TryShared(dir)
	}

	if errors.Is(err, flock.ErrHeld) || err == nil && moved() { // it is being deleted, or was between the two calls
		return &fs.PathError{Op: "lock", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		return fmt.Errorf("hold image: %w", err)
	}
	return nil
}

// Removed reports whether the store no longer has one of the locked trees.
func (h *ImageLock) Removed() bool {
	for i := range h.dirs {
		if h.moved(i) {
			return true
		}
	}
	return false
}

func (h *ImageLock) moved(i int) bool {
	locked, err := h.dirs[i].Stat()
	if err != nil {
		return true
	}
	now, err := os.Stat(h.paths[i])
	return err != nil || !os.SameFile(locked, now)
}

// Trees opens the locked trees at their current paths, the topmost first: their first paths may no
// longer exist, or may be other trees. The caller closes them.
func (h *ImageLock) Trees() (trees []*os.File, err error) {
	open := func(i int) {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH}
		n, oerr := lookup.Openat2(int(h.dirs[i].Fd()), "root", &how)
		if path := filepath.Join(h.paths[i], "root"); oerr != nil {
			err = errors.Join(err, &fs.PathError{Op: "open", Path: path, Err: oerr})
		} else {
			trees = append(trees, os.NewFile(uintptr(n), path))
		}
	}

	open(0)
	for i := len(h.dirs) - 1; i > 0; i-- {
		open(i)
	}

	if err != nil {
		for _, t := range trees {
			err = errors.Join(err, t.Close())
		}
		return nil, err
	}

	return trees, nil
}

// Close unlocks the image and reports whether it has been removed in the meantime. In that case the
// store's next Clean deletes the trees.
func (h *ImageLock) Close() (removed bool, err error) {
	removed = h.Removed()
	return removed, h.close()
}

func (h *ImageLock) close() (err error) {
	for _, dir := range h.dirs {
		err = errors.Join(err, dir.Close())
	}
	return err
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

		if err := flock.Try(dir); errors.Is(err, flock.ErrHeld) {
			return nil
		} else if err != nil {
			return err
		}
	}

	return os.RemoveAll(path)
}
