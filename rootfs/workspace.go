package rootfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNoWorkspace means an image in which a volume has no place.
var ErrNoWorkspace = errors.New("it was stored before there were volumes and has something else at /workspace: remove it, and build or import it again")

// Workspace sees to it that a stored tree has a directory /workspace. Images stored
// before there were volumes lack it: they get it, and it is added to their record.
func (s *Store) Workspace(digest string) (err error) {
	hex, err := parseDigest(digest)
	if err != nil {
		return err
	}
	dir := s.path("images", hex)
	if done, err := hasWorkspace(dir); done || err != nil {
		return err
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if done, err := hasWorkspace(dir); done || err != nil {
		return err // another was quicker
	}
	meta, err := s.readMeta(hex)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil {
		return err
	}
	sound := meta.Record == recordSum(text) // one that is not stays so
	root, err := os.Open(filepath.Join(dir, "root"))
	if err != nil {
		return err
	}
	defer root.Close()
	if err := mkdir(root, "workspace"); err != nil {
		return err
	}
	if err := errors.Join(setTime(root, "workspace", 0), setTime(root, ".", 0)); err != nil || !sound {
		return err
	}
	what, _, err := describeMember(filepath.Join(dir, "root", "workspace"))
	if err != nil {
		return err
	}
	text = fmt.Appendf(text, "%q %s\n", "workspace", what)
	meta.Record = recordSum(text)
	return s.rewriteRecord(dir, meta, text)
}

func hasWorkspace(dir string) (bool, error) {
	var st unix.Stat_t
	err := unix.Lstat(filepath.Join(dir, "root", "workspace"), &st)
	switch {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case err != nil:
		return false, err
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return false, fmt.Errorf("image %s: %w", strings.TrimPrefix(filepath.Base(dir), "sha256:")[:12], ErrNoWorkspace)
	}
	return true, nil
}

// rewriteRecord puts a new record and the meta data that has its sum into the place of
// the old. Between the two renames the tree cannot be verified, which is said.
func (s *Store) rewriteRecord(dir string, meta imageMeta, text []byte) (err error) {
	w, err := makeWork(s.path("work"), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := errors.Join(writeFile(filepath.Join(w.path, recordName), text), w.writeMeta(meta)); err != nil {
		return err
	}
	for _, name := range []string{recordName, "image.json"} {
		if err := os.Rename(filepath.Join(w.path, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return syncDir(dir)
}
