package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// unpack writes the entries of d below the root of t, which must be empty.
func unpack(ctx context.Context, d *decoder, t *tree) error {
	defer t.forget()

	// Directories get their times and modes after all members are written. The decoder limits the
	// total length of these names.
	var dirs []entry
	for {
		if err := ctx.Err(); err != nil {
			return err
		}

		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := t.addMember(e, d); err != nil {
			return fmt.Errorf("unpack %q: %w", e.Path, err)
		}
		if e.Kind == kindDir {
			dirs = append(dirs, e)
		}
	}

	if err := t.dropWhiteouts(ctx); err != nil {
		return err
	}

	for _, e := range dirs {
		if err := t.finalizeDir(e); err != nil {
			return fmt.Errorf("unpack %q: %w", e.Path, err)
		}
	}

	return nil
}

// addMember writes one member. The last of several members with the same name wins (IMG-17).
func (t *tree) addMember(e entry, body io.Reader) error {
	if e.Kind == kindOpaque {
		return t.makeOpaque(e)
	}

	at, base, err := t.parent(e.Path)
	if notDir(err) {
		return &UnsafeError{Member: e.Path, Reason: "is below a path that is not a directory"}
	}
	if err != nil {
		return err
	}

	switch e.Kind {
	case kindHardlink:
		return t.link(at, base, e)
	case kindWhiteout:
		return t.whiteout(at, base)
	}

	old, err := lstat(at, base)
	switch {
	case errors.Is(err, unix.ENOENT):
	case err != nil:
		return err
	case e.Kind == kindDir && isDir(old):
		t.explicit(at, base)
		return nil // its mode and time are set at the end
	default:
		if err := t.remove(at, base); err != nil {
			return err
		}
	}

	switch e.Kind {
	case kindDir:
		if err := t.mkdir(at, base, false); err != nil || !isWhiteout(old) {
			return err
		}
		return setOpaque(at, base) // the layer removes the directory below, and has a new one

	case kindSymlink:
		if err := unix.Symlinkat(e.Link, int(at.Fd()), base); err != nil {
			return &os.PathError{Op: "symlink", Path: base, Err: err}
		}
	case kindFile:
		if err := t.create(at, base, e.Mode, e.Size, body); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: kind %q", errStream, byte(e.Kind))
	}

	return setTime(at, base, e.MTime)
}

// notDir reports whether a name leads to no directory, and cannot.
func notDir(err error) bool {
	return errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENAMETOOLONG)
}

// link makes a hard link to a regular file or a symbolic link that an earlier member made. It refuses
// a link to anything else, or to a name behind a dangling link (IMG-05). linkat follows no symbolic
// link without AT_SYMLINK_FOLLOW: the new name is that of the link itself.
func (t *tree) link(at *os.File, base string, e entry) error {
	outside := &UnsafeError{Member: e.Path,
		Reason: fmt.Sprintf("is a hard link to %q, which is not an earlier file or symbolic link", e.Link)}
	if t.layer { // what is below is not known: layers are shared (IMG-28)
		outside.Reason += " of the same layer: build the image so that the file and its links are in one layer"
	}

	dir, err := t.open(path.Dir(e.Link), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return outside
	}
	defer dir.Close()

	target := path.Base(e.Link)
	file, err := lstat(dir, target)
	if err != nil {
		return outside
	}
	if what := file.Mode & unix.S_IFMT; what != unix.S_IFREG && what != unix.S_IFLNK {
		return outside
	}

	switch old, err := lstat(at, base); {
	case errors.Is(err, unix.ENOENT):
	case err != nil:
		return err
	case old.Ino == file.Ino && old.Dev == file.Dev:
		return nil
	default:
		if err := t.remove(at, base); err != nil {
			return err
		}
	}

	if err := unix.Linkat(int(dir.Fd()), target, int(at.Fd()), base, 0); err != nil {
		return linkError(e, err)
	}
	return nil
}

// linkError distinguishes one link too many, which is the archive's fault, from errors of the host.
func linkError(e entry, err error) error {
	if errors.Is(err, unix.EMLINK) { // 65,000 on ext4
		return &UnsafeError{Member: e.Path,
			Reason: fmt.Sprintf("has more hard links to %q than the store's file system allows: use fewer, or symbolic links",
				e.Link)}
	}
	return &os.LinkError{Op: "link", Old: e.Link, New: e.Path, Err: err}
}

// remove removes the previous member at base, so that a new one can take its name.
func (t *tree) remove(at *os.File, base string) error {
	t.stale()
	return removeAll(at, base)
}

// finalizeDir sets a directory's final mode and time, unless a later member replaced the directory.
func (t *tree) finalizeDir(e entry) error {
	f, err := t.open(e.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Fchmod(int(f.Fd()), uint32(e.Mode)); err != nil {
		return &os.PathError{Op: "chmod", Path: e.Path, Err: err}
	}
	return setTime(f, ".", e.MTime)
}

func isDir(st unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }
