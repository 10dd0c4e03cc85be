package rootfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// work is the private directory of one import. Its lock tells a concurrent Clean
// that somebody is still at it; the kernel drops it with the process (IMG-20).
type work struct {
	path string
	dir  *os.File // flocked
}

func (s *Store) newWork() (*work, error) {
	// Under the store's lock, so that Clean cannot come between making the
	// directory and locking it.
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	w, err := makeWork(s.path("work"), "")
	if err = errors.Join(err, unlock()); err != nil {
		return nil, fmt.Errorf("start import: %w", err)
	}
	return w, nil
}

func makeWork(parent, prefix string) (*work, error) {
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := flock(dir, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &work{path: path, dir: dir}, nil
}

// Close removes what is left of the work and unlocks it. A stored image that came here
// to be deleted stays while somebody holds it.
func (w *work) Close() error {
	return errors.Join(removeUnheld(w.path), w.dir.Close())
}

// mkdir makes a directory in the work directory and opens it.
func (w *work) mkdir(name string) (*os.File, error) {
	if err := mkdir(w.dir, name); err != nil {
		return nil, err
	}
	return os.Open(filepath.Join(w.path, name))
}

func (w *work) writeMeta(meta imageMeta) error {
	text, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(w.path, "image.json"), append(text, '\n'))
}

// publish moves a finished import into the store, where it replaces what is not stored well,
// and names it.
func (s *Store) publish(w *work, meta imageMeta, name string, replace bool) (img Image, err error) {
	unlock, err := s.lock()
	if err != nil {
		return Image{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	hex, err := parseDigest(meta.Digest)
	if err != nil {
		return Image{}, err
	}
	if _, err := s.readMeta(hex); err != nil || replace { // not stored yet, or damaged
		if err := s.place(w, hex); err != nil {
			return Image{}, fmt.Errorf("store image: %w", err)
		}
	}
	if name != "" {
		tmp := filepath.Join(w.path, "name")
		if err := writeFile(tmp, []byte(meta.Digest+"\n")); err != nil {
			return Image{}, err
		}
		if err := os.Rename(tmp, s.path("names", name)); err != nil {
			return Image{}, fmt.Errorf("name image: %w", err)
		}
		if err := syncDir(s.path("names")); err != nil {
			return Image{}, err
		}
	}
	return s.Lookup(meta.Digest)
}

// place renames tree and record into the store together.
func (s *Store) place(w *work, hex string) error {
	whole := filepath.Join(w.path, "whole")
	if err := os.Mkdir(whole, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(whole, 0o755); err != nil {
		return err
	}
	for _, part := range []string{"root", "image.json", recordName} {
		if err := os.Rename(filepath.Join(w.path, part), filepath.Join(whole, part)); err != nil {
			return err
		}
	}
	if err := syncDir(whole); err != nil {
		return err
	}
	if err := w.swap(whole, s.path("images", hex)); err != nil {
		return err
	}
	return syncDir(s.path("images"))
}

// swap puts a new directory in the place of one that may be there, whose place is then
// the work directory. At any moment one of the two is there: who is killed here has lost
// no image, and no name of it, and a run that begins finds it.
func (w *work) swap(fresh, final string) error {
	err := unix.Renameat2(unix.AT_FDCWD, fresh, unix.AT_FDCWD, final, unix.RENAME_EXCHANGE)
	switch {
	case errors.Is(err, unix.EINVAL): // of this file system: not quite at any moment then
		if err := os.Rename(final, filepath.Join(w.path, "damaged")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Rename(fresh, final)
	case errors.Is(err, unix.ENOENT):
		return os.Rename(fresh, final)
	}
	return err
}

// Clean removes the work of imports whose process is gone, removed images that nobody
// holds any more, and names whose image is gone. Open does it.
func (s *Store) Clean() (err error) {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	dirs, err := os.ReadDir(s.path("work"))
	if err != nil {
		return fmt.Errorf("clean image store: %w", err)
	}
	var errs []error
	for _, d := range dirs {
		errs = append(errs, cleanWork(s.path("work", d.Name())))
	}
	names, err := s.names()
	errs = append(errs, err)
	for digest, list := range names {
		hex, err := parseDigest(digest)
		if err == nil {
			_, err = os.Stat(s.path("images", hex))
		}
		if err == nil {
			continue
		}
		for _, name := range list {
			errs = append(errs, os.Remove(s.path("names", name)))
		}
	}
	return errors.Join(errs...)
}

func cleanWork(path string) error {
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // its owner was quicker
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := flock(dir, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil // its owner lives
	}
	return removeUnheld(path)
}

// removePath removes a work directory and all below it without following links.
func removePath(path string) error {
	parent, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer parent.Close()
	return removeAll(parent, filepath.Base(path))
}

func writeFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
