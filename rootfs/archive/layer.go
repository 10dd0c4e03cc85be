package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/lookup"
)

// The tree of a layer is one that overlayfs understands: a character device 0:0 is a whiteout, and a
// directory with opaqueAttr hides what the layers below have in it. Only this file makes them: the
// admission child can ask for neither a device nor an attribute.
//
// A layer may have a member without having the directories above it. In an overlay such an implied
// directory replaces whatever the layers below have there, even a link to a directory: the store
// refuses an image in which that happens (IMG-27).
const opaqueAttr = "trusted.overlay.opaque"

// FinishLayer sets the mode and the time of the root of a layer's tree.
func FinishLayer(root *os.File) error {
	if err := unix.Fchmod(int(root.Fd()), 0o755); err != nil {
		return &os.PathError{Op: "chmod", Path: "/", Err: err}
	}
	return setTime(root, ".", 0)
}

// IsOpaque reports whether a directory of a layer hides what the layers below have in it.
func IsOpaque(path string) bool {
	var value [2]byte
	n, err := unix.Lgetxattr(path, opaqueAttr, value[:])
	return err == nil && n == 1 && value[0] == 'y'
}

func isWhiteout(st unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0 }

// whiteout removes the name base from what the layers below have in the directory at. It concerns
// nothing that the layer itself has, before or after it in the archive.
func (t *tree) whiteout(at *os.File, base string) error {
	old, err := lstat(at, base)
	switch {
	case err == nil && isDir(old):
		return setOpaque(at, base)
	case err == nil: // the layer's own file, or the same whiteout again
		return nil
	}

	if err := unix.Mknodat(int(at.Fd()), base, unix.S_IFCHR, 0); err != nil {
		return &os.PathError{Op: "mknod", Path: base, Err: err}
	}

	if at != t.root { // the root of a cell always has several trees
		name, err := t.realName(at, "")
		if err != nil {
			return err
		}
		if err := t.note(&t.whiteoutDirs, strings.TrimSuffix(name, "/")); err != nil {
			return err
		}
	}

	return setTime(at, base, 0)
}

// note adds a name to one of the tree's sets. Short members can have long names, through links.
func (t *tree) note(set *map[string]bool, name string) error {
	if *set == nil {
		*set = map[string]bool{}
	}
	if (*set)[name] {
		return nil
	}
	if t.names += len(name); t.names > maxLayerNames {
		return fmt.Errorf("%w: the names of directories that it implies, or that have whiteouts, are longer than %d "+
			"bytes together", ErrTooLarge, maxLayerNames)
	}
	(*set)[name] = true
	return nil
}

// dropWhiteouts removes the whiteouts that hide nothing, because a directory above them is opaque, and
// leaves in whiteoutDirs the directories that have others. Where overlayfs merges nothing, it shows
// whiteouts as names without a file, on which ls and cp fail (IMG-51).
func (t *tree) dropWhiteouts(ctx context.Context) error {
	opaque := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(t.whiteoutDirs)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		hidden, err := t.dropFrom(name, opaque)
		if err != nil {
			return fmt.Errorf("whiteouts of %q: %w", name, err)
		}
		if hidden {
			delete(t.whiteoutDirs, name)
		}
	}

	return nil
}

// dropFrom is dropWhiteouts for one directory. It reports whether no whiteout is left. opaque has what
// is known of the directories above.
func (t *tree) dropFrom(name string, opaque map[string]bool) (none bool, err error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	fd, err := lookup.Openat2(int(t.root.Fd()), name, &how)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return true, nil // a later member took its place
	case err != nil:
		return false, &os.PathError{Op: "openat2", Path: name, Err: err}
	}

	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close()

	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false, err
	}

	hidden, was := t.opaqueRoot || t.belowOpaque(name, opaque), unix.Stat_t{}
	if err := unix.Fstat(fd, &was); err != nil {
		return false, &os.PathError{Op: "fstat", Path: name, Err: err}
	}

	for _, base := range names {
		st, err := lstat(dir, base)
		if err != nil {
			return false, err
		}

		switch {
		case !isWhiteout(st):
		case !hidden:
			return false, nil
		default:
			if err := unix.Unlinkat(fd, base, 0); err != nil {
				return false, &os.PathError{Op: "unlink", Path: base, Err: err}
			}
		}
	}

	return true, setTime(dir, ".", unix.TimespecToNsec(was.Mtim))
}

// belowOpaque reports whether a directory or one above it is opaque. No part of name is a link.
func (t *tree) belowOpaque(name string, known map[string]bool) bool {
	if name == "." {
		return false
	}
	is, ok := known[name]
	if !ok {
		is = IsOpaque(fmt.Sprintf("/proc/self/fd/%d/%s", t.root.Fd(), name)) || t.belowOpaque(path.Dir(name), known)
		known[name] = is
	}
	return is
}

// makeOpaque makes a directory opaque, and makes it if it is missing. A file in its place refuses the
// archive (IMG-26).
func (t *tree) makeOpaque(e entry) error {
	if e.Path == "" {
		t.opaqueRoot = true
		return nil
	}

	at, _, err := t.parent(e.Path + "/x")
	if notDir(err) {
		return &UnsafeError{Member: e.Path + "/" + whiteoutOpaque,
			Reason: fmt.Sprintf("is below a path that is not a directory (%v)", err)}
	}
	if err != nil {
		return err
	}
	return setOpaque(at, ".")
}

func setOpaque(at *os.File, base string) error {
	fd, err := unix.Openat(int(at.Fd()), base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: base, Err: err}
	}
	defer unix.Close(fd)
	if err := unix.Fsetxattr(fd, opaqueAttr, []byte("y"), 0); err != nil {
		return fmt.Errorf("mark the directory %s: the file system of the image store needs trusted extended "+
			"attributes for images with layers: %w", base, err)
	}
	return nil
}

// makeImplied makes a directory that has no member yet. It reports false if base is something else,
// perhaps a link.
func (t *tree) makeImplied(at *os.File, base string) (done bool, err error) {
	old, err := lstat(at, base)
	gone := err == nil && isWhiteout(old)
	switch {
	case err == nil && !gone:
		return false, nil
	case gone:
		if err := unix.Unlinkat(int(at.Fd()), base, 0); err != nil {
			return false, &os.PathError{Op: "unlink", Path: base, Err: err}
		}
	}

	if err := t.mkdir(at, base, true); err != nil {
		return false, err
	}
	if gone {
		return true, setOpaque(at, base)
	}

	name, err := t.realName(at, base)
	if err != nil {
		return false, err
	}
	if err := t.note(&t.implied, name); err != nil {
		return false, err
	}
	return true, setTime(at, base, 0)
}

// explicit records that the directory base has a member of its own.
func (t *tree) explicit(at *os.File, base string) {
	if len(t.implied) > 0 {
		if name, err := t.realName(at, base); err == nil {
			delete(t.implied, name)
		}
	}
}

// realName returns the name of base in the directory at, relative to the root and without links.
func (t *tree) realName(at *os.File, base string) (string, error) {
	pathOf := func(f *os.File) (string, error) { return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())) }
	root, err := pathOf(t.root)
	if err != nil {
		return "", err
	}

	dir, err := pathOf(at)
	if err != nil {
		return "", err
	}

	rel, ok := strings.CutPrefix(dir+"/", root+"/")
	if !ok {
		return "", fmt.Errorf("BUG: %s is not below %s", dir, root)
	}
	return rel + base, nil
}
