package rootfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/durable"
	"github.com/brig-sandbox/brig/internal/flock"
)

// stagingDir is the staging directory of one import. Its lock tells a concurrent Clean that the import is
// still running; the kernel releases the lock when the process ends (IMG-20).
type StagingDir struct {
	Path string
	dir  *os.File // flocked
}

func (s *Store) newStagingDir() (*StagingDir, error) {
	// Hold the store's lock, so that Clean cannot run between making the directory and locking it.
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	w, err := MakeStagingDir(s.path("work"), "")
	if err = errors.Join(err, unlock()); err != nil {
		return nil, fmt.Errorf("start import: %w", err)
	}
	return w, nil
}

func MakeStagingDir(parent, prefix string) (*StagingDir, error) {
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := flock.Try(dir); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &StagingDir{Path: path, dir: dir}, nil
}

// Close removes the staging directory and unlocks it. If it contains a stored image that is to be
// deleted but still locked, the directory stays.
func (w *StagingDir) Close() error {
	return errors.Join(removeUnlocked(w.Path), w.dir.Close())
}

// mkdir makes a directory in the staging directory and opens it.
func (w *StagingDir) mkdir(name string) (*os.File, error) {
	path := filepath.Join(w.Path, name)
	if err := makeDir(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

func (w *StagingDir) writeMeta(meta imageMeta) error { return w.writeJSON("image.json", meta) }

func (w *StagingDir) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(w.Path, name), append(text, '\n'))
}

// publish moves a finished import into the store and names it. It keeps an image already stored
// under the digest, unless replace is set.
func (s *Store) publish(w *StagingDir, meta imageMeta, name string, replace bool) (img Image, err error) {
	unlock, err := s.lock()
	if err != nil {
		return Image{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	hex, err := ParseDigest(meta.Digest)
	if err != nil {
		return Image{}, err
	}

	if _, err := s.readMeta(hex); err != nil || replace { // not stored yet, or damaged
		if err := s.checkLayers(meta.Layers); err != nil {
			return Image{}, err
		}
		if err := s.install(w, s.path("images", hex), "image.json"); err != nil {
			return Image{}, fmt.Errorf("store image: %w", err)
		}
	} else if now, ok := meta.Origins[name]; ok {
		if err := s.updateOrigin(hex, name, now); err != nil {
			return Image{}, err
		}
	}

	if name != "" {
		tmp := filepath.Join(w.Path, "name")
		if err := writeFile(tmp, []byte(meta.Digest+"\n")); err != nil {
			return Image{}, err
		}
		if err := os.Rename(tmp, s.path("names", name)); err != nil {
			return Image{}, fmt.Errorf("name image: %w", err)
		}
		if err := durable.SyncDir(s.path("names")); err != nil {
			return Image{}, err
		}
	}

	return s.Lookup(meta.Digest)
}

// install moves the tree, its record and the JSON files meta to the directory final with one rename.
func (s *Store) install(w *StagingDir, final string, meta ...string) error {
	newDir := filepath.Join(w.Path, "whole")
	if err := makeDir(newDir); err != nil {
		return err
	}

	for _, part := range append(meta, "root", recordName) {
		if err := os.Rename(filepath.Join(w.Path, part), filepath.Join(newDir, part)); err != nil {
			return err
		}
	}

	if err := durable.SyncDir(newDir); err != nil {
		return err
	}
	if err := w.swap(newDir, final); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(final))
}

// swap moves the directory fresh to final. If final exists, it takes the place of fresh in the
// staging directory. One of the two is always at final, so a process killed at this point loses no
// image and no name, and a new run always finds the image.
func (w *StagingDir) swap(newDir, final string) error {
	err := unix.Renameat2(unix.AT_FDCWD, newDir, unix.AT_FDCWD, final, unix.RENAME_EXCHANGE)
	switch {
	case errors.Is(err, unix.EINVAL): // no RENAME_EXCHANGE here: final is missing for a moment
		if err := os.Rename(final, filepath.Join(w.Path, "damaged")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Rename(newDir, final)
	case errors.Is(err, unix.ENOENT):
		return os.Rename(newDir, final)
	}
	return err
}

// Clean removes the staging directories of imports whose process is gone, removed images that are
// no longer locked, and names whose image is gone. Open calls it.
func (s *Store) Clean() (err error) {
	gone, unlock, err := s.lockToRemove()
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
		w, err := takeOver(s.path("work", d.Name()))
		if errs = append(errs, err); w != nil {
			*gone = append(*gone, w)
		}
	}

	errs = append(errs, s.cleanPackages())
	names, err := s.names()
	errs = append(errs, err)
	for digest, list := range names {
		hex, err := ParseDigest(digest)
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

// CleanStagingDir removes a staging directory whose owner is gone.
func CleanStagingDir(path string) error {
	w, err := takeOver(path)
	if w == nil {
		return err
	}
	return w.Close()
}

// takeOver locks a staging directory whose owner is gone. It returns nil if there is none.
func takeOver(path string) (*StagingDir, error) {
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // its owner removed it first
	}
	if err != nil {
		return nil, err
	}
	if err := flock.Try(dir); err != nil {
		return nil, dir.Close() // its owner is still running
	}
	return &StagingDir{Path: path, dir: dir}, nil
}

// makeDir makes a directory with mode 0755, independent of the umask.
func makeDir(path string) error {
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o755)
}

func writeFile(path string, text []byte) error {
	return createFile(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// createFile makes a file that fill writes, and has it written to disk.
func createFile(path string, fill func(w io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Chmod(0o644), f.Sync(), f.Close())
}
