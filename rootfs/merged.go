package rootfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/lookup"
	"github.com/brig-sandbox/brig/rootfs/archive"
)

// merged is what an overlay of trees shows, the topmost first. It looks names up without a mount, so
// that the store can be read without privilege (TestMergedIsWhatOverlayfsShows). It never leaves the
// trees: it opens one name at a time and follows links itself.
type merged []*os.File

// openMerged opens trees, the topmost first.
func openMerged(paths []string) (_ merged, err error) {
	var m merged
	for _, p := range paths {
		n, err := unix.Open(p, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, errors.Join(&os.PathError{Op: "open", Path: p, Err: err}, m.Close())
		}
		m = append(m, os.NewFile(uintptr(n), p))
	}
	return m, nil
}

func (m merged) Close() (err error) {
	for _, f := range m {
		err = errors.Join(err, f.Close())
	}
	return err
}

// A member is what a name stands for.
type member struct {
	file *os.File // O_PATH, in the topmost tree that has it
	mode uint32   // of stat
	time int64    // of its last modification, in nanoseconds
	name string   // relative to the root, without links; empty: the root itself
	in   []int    // indexes of the trees of which it shows something; more than one only for a directory
}

func (f member) is(kind uint32) bool { return f.mode&unix.S_IFMT == kind }

// maxLinks is the most links that find follows, as in the kernel. maxParts is the most parts of a name
// and of the links in it that find looks up: each costs three system calls for each tree. The kernel has
// no such bound, and 40 links to a path of 800 parts in an image of 128 layers took 30 s of the
// agent's processor for each request (TestHostileLinksAreCheap).
const (
	maxLinks = 40
	maxParts = 256
)

// find looks a name up. Links in it are followed, also the last one if follow is set. The error is a
// unix.Errno in an *os.PathError, or the cause of ctx's end. The caller closes the member's file.
func (m merged) find(ctx context.Context, name string, follow bool) (_ member, err error) {
	root := member{name: "", mode: unix.S_IFDIR}
	for i := range m {
		root.in = append(root.in, i)
	}

	// at has the directories from the root to here. A part .. goes back to one of them, so that it never
	// leads above the root.
	at, left, links, parts := []member{root}, strings.Split(name, "/"), 0, 0
	defer func() {
		for _, f := range at {
			if f.file != nil {
				err = errors.Join(err, f.file.Close())
			}
		}
	}()

	fail := func(errno unix.Errno) (member, error) {
		return member{}, &os.PathError{Op: "find", Path: name, Err: errno}
	}
	for len(left) > 0 {
		part := left[0]
		left = left[1:]

		switch part {
		case "", ".":
			continue
		case "..":
			if last := at[len(at)-1]; len(at) > 1 {
				if err := last.file.Close(); err != nil {
					return member{}, err
				}
				at = at[:len(at)-1]
			}
			continue
		}

		if parts++; parts > maxParts {
			return fail(unix.ELOOP)
		}

		next, err := m.child(ctx, at[len(at)-1], part)
		if err != nil {
			return member{}, err
		}

		end := len(left) == 0
		switch {
		case next.is(unix.S_IFDIR):
			at = append(at, next)
		case next.is(unix.S_IFLNK) && (follow || !end):
			target, err := readlink(next.file)
			if err = errors.Join(err, next.file.Close()); err != nil {
				return member{}, err
			}
			if links++; links > maxLinks {
				return fail(unix.ELOOP)
			}

			// An absolute link begins at the root of the image, and not of the host.
			if path.IsAbs(target) {
				for _, f := range at[1:] {
					if err := f.file.Close(); err != nil {
						return member{}, err
					}
				}
				at = at[:1]
			}

			left = append(strings.Split(target, "/"), left...)

		case !end:
			if err := next.file.Close(); err != nil {
				return member{}, err
			}
			return fail(unix.ENOTDIR)

		default:
			return next, nil
		}
	}

	found := at[len(at)-1]
	if len(at) > 1 {
		at = at[:len(at)-1] // the caller closes it
	}
	return found, nil
}

// child looks one name up in a directory.
func (m merged) child(ctx context.Context, dir member, base string) (_ member, err error) {
	if ctx.Err() != nil {
		return member{}, context.Cause(ctx)
	}

	name := path.Join(dir.name, base)
	found := member{name: name}
	for _, i := range dir.in {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
		n, err := lookup.Openat2(int(m[i].Fd()), name, &how)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return member{}, &os.PathError{Op: "openat2", Path: name, Err: err}
		}

		f := os.NewFile(uintptr(n), name)
		var st unix.Stat_t
		if err := unix.Fstat(n, &st); err != nil {
			return member{}, errors.Join(&os.PathError{Op: "fstat", Path: name, Err: err}, f.Close())
		}

		isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
		whiteout := st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0
		if found.file == nil && !whiteout {
			found.file, found.mode, found.time = f, st.Mode, unix.TimespecToNsec(st.Mtim)
		} else if err := f.Close(); err != nil {
			return member{}, err
		}
		if whiteout || !isDir && len(found.in) > 0 {
			break // a directory above hides it, or it hides what is below
		}

		found.in = append(found.in, i)
		if !isDir || isOpaque(m[i], name) {
			break
		}
	}

	if found.file == nil {
		return member{}, &os.PathError{Op: "find", Path: name, Err: unix.ENOENT}
	}
	return found, nil
}

// isOpaque reads the attribute by a path below our handle: no component of name is a link.
func isOpaque(tree *os.File, name string) bool {
	return archive.IsOpaque(fmt.Sprintf("/proc/self/fd/%d/%s", tree.Fd(), name))
}

func readlink(f *os.File) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(f.Fd()), "", buf)
	if err != nil {
		return "", &os.PathError{Op: "readlink", Path: f.Name(), Err: err}
	}
	return string(buf[:n]), nil
}

// readAccounts reads an account file as the trees show it.
func (m merged) readAccounts(ctx context.Context, name string) ([]byte, error) {
	found, err := m.find(ctx, name, true)
	if notThere(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if found.file == nil || !found.is(unix.S_IFREG) {
		return nil, found.close()
	}

	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", found.file.Fd()))
	if err = errors.Join(err, found.close()); err != nil {
		return nil, err
	}
	defer f.Close()

	return archive.ReadAccounts(f)
}

// notThere reports whether a look-up ended because the name leads nowhere.
func notThere(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) ||
		errors.Is(err, unix.ENAMETOOLONG)
}

func (f member) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// Has reports whether a program would find the path name in the image. It follows links as the program
// does, up to a bound (see maxParts). For an image without layers it takes three system calls; for
// others the store keeps the answer, since each request may ask. The error wraps fs.ErrNotExist if the
// image was removed.
func (img Image) Has(ctx context.Context, name string) (bool, error) {
	if img.found == nil || len(img.Layers) == 0 {
		return img.has(ctx, name)
	}

	key := foundKey{img.Digest, img.Imported, name}
	for _, l := range img.Layers { // one that was replaced is another tree
		if l.Imported.After(key.imported) {
			key.imported = l.Imported
		}
	}

	if has, ok := img.found.get(key); ok {
		return has, nil
	}

	has, err := img.has(ctx, name)
	if err == nil {
		img.found.put(key, has)
	}
	return has, err
}

func (img Image) has(ctx context.Context, name string) (_ bool, err error) {
	paths := []string{img.Path}
	for _, l := range slices.Backward(img.Layers) {
		paths = append(paths, l.Path)
	}

	trees, err := openMerged(paths)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, trees.Close()) }()

	var found member
	if len(trees) > 1 {
		found, err = trees.find(ctx, name, true)
	} else {
		var n int
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
		if n, err = lookup.Openat2(int(trees[0].Fd()), name, &how); err == nil {
			found.file = os.NewFile(uintptr(n), name)
		} else {
			err = &os.PathError{Op: "openat2", Path: img.Path + name, Err: err}
		}
	}

	switch {
	case notThere(err):
		return false, nil
	case err != nil:
		return false, err
	}

	return true, found.close()
}
