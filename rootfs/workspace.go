package rootfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/durable"
)

// ErrNoWorkspace means that an image has no directory at which a volume can be mounted.
var ErrNoWorkspace = errors.New("it was stored by a brig without volumes, and its /workspace is not a directory: " +
	"remove it, and build or import it again")

// EnsureWorkspace ensures that a stored tree has a directory /workspace. Images stored by a brig without
// volumes lack it: it is made and added to their record.
func (s *Store) EnsureWorkspace(digest string) (err error) {
	hex, err := ParseDigest(digest)
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
		return err // another process made it first
	}

	meta, err := s.readMeta(hex)
	if err != nil {
		return err
	}

	sum, _, err := hashFile(filepath.Join(dir, recordName))
	if err != nil {
		return err
	}

	valid := meta.Record == sum // an invalid record stays invalid
	root, epoch := filepath.Join(dir, "root"), time.Unix(0, 0)
	workspace := filepath.Join(root, "workspace")
	if err := makeDir(workspace); err != nil {
		return err
	}
	if err := errors.Join(os.Chtimes(workspace, epoch, epoch), os.Chtimes(root, epoch, epoch)); err != nil || !valid {
		return err
	}

	what, _, err := describeMember(workspace, nil)
	if err != nil {
		return err
	}
	return s.extendRecord(dir, meta, recorded{"workspace", what})
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

// extendRecord adds a line to the record, and replaces the metadata with its sum. Between the two renames
// Verify returns ErrNoRecord.
func (s *Store) extendRecord(dir string, meta imageMeta, line recorded) (err error) {
	w, err := MakeStagingDir(s.path("work"), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()

	old, err := os.Open(filepath.Join(dir, recordName))
	if err != nil {
		return err
	}
	defer old.Close()

	meta.Record, _, err = w.writeRecord(func(out io.Writer) error {
		_, err := io.Copy(out, old)
		return errors.Join(err, line.write(out))
	})
	if err = errors.Join(err, w.writeMeta(meta)); err != nil {
		return err
	}

	for _, name := range []string{recordName, "image.json"} {
		if err := os.Rename(filepath.Join(w.Path, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}

	return durable.SyncDir(dir)
}
