package archive

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/lookup"
)

// A tree is a directory that is being filled. The kernel resolves every name below the handle of
// the root as if that were "/" (openat2, Linux 5.6): absolute links and ".." stay inside (IMG-03 to
// IMG-06). So archives that use var/run -> /run as a parent unpack correctly (IMG-09).
type tree struct {
	root *os.File
	sums Sums   // of the files made so far; nil: none are computed
	buf  []byte // for their contents

	// The last used parent. Adding members never changes what a name resolves to. Removing one may,
	// and makes the parent stale.
	lastName string
	last     *os.File

	made func(implied bool) error // counts each directory before it is made; nil: none are counted

	// Of a layer: see layer.go.
	layer        bool
	opaqueRoot   bool
	implied      map[string]bool
	whiteoutDirs map[string]bool
	names        int // bytes of both
}

func (t *tree) forget() {
	if t.last != nil {
		t.last.Close()
		t.last = nil
	}
}

// stale marks the last parent as invalid: its name may now resolve to another directory.
func (t *tree) stale() { t.lastName = "" }

// open opens name inside the tree, following links.
func (t *tree) open(name string, flags int) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	fd, err := lookup.Openat2(int(t.root.Fd()), name, &how)
	if err != nil {
		return nil, &os.PathError{Op: "openat2", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// parent returns a handle on the directory that contains name, and the last part of name. It makes
// the directory if it is missing. The handle belongs to the tree.
func (t *tree) parent(name string) (*os.File, string, error) {
	dir, base := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	if dir == "" {
		return t.root, base, nil
	}
	if t.last != nil && t.lastName == dir {
		return t.last, base, nil
	}

	f, err := t.open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOENT) || t.layer && errors.Is(err, unix.ENOTDIR) { // in a layer it may be a whiteout
		if err = t.makeAll(dir, maxHops); err == nil {
			f, err = t.open(dir, unix.O_PATH|unix.O_DIRECTORY)
		}
	}
	if err != nil {
		return nil, "", err
	}

	t.forget()
	t.last, t.lastName = f, dir
	return f, base, nil
}

// makeAll makes the missing directories of dir, including those behind dangling links: an archive
// may contain var/run -> /run and var/run/x but no run. dir may contain ".." from a link's target;
// the kernel resolves it.
func (t *tree) makeAll(dir string, hops int) error {
	if hops == 0 {
		return &os.PathError{Op: "mkdir", Path: dir, Err: unix.ELOOP}
	}

	done := "."
	for part := range strings.SplitSeq(dir, "/") {
		if part == "" || part == "." {
			continue
		}

		next := done + "/" + part
		f, err := t.open(next, unix.O_PATH|unix.O_DIRECTORY)
		if err == nil {
			done = next
			f.Close()
			continue
		}
		if !errors.Is(err, unix.ENOENT) && !(t.layer && errors.Is(err, unix.ENOTDIR)) {
			return err
		}
		if err := t.makeOne(done, part, hops); err != nil {
			return err
		}

		done = next
	}

	return nil
}

func (t *tree) makeOne(dir, base string, hops int) error {
	at, err := t.open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer at.Close()

	if t.layer {
		if done, err := t.makeImplied(at, base); done || err != nil {
			return err
		}
	} else if _, err := lstat(at, base); errors.Is(err, unix.ENOENT) {
		return t.mkdir(at, base, true)
	}

	buf := make([]byte, maxPath+1)
	n, err := unix.Readlinkat(int(at.Fd()), base, buf)
	if errors.Is(err, unix.EINVAL) {
		err = unix.ENOTDIR
	}
	if err != nil {
		return &os.PathError{Op: "readlink", Path: base, Err: err}
	}

	target := string(buf[:n])
	if !strings.HasPrefix(target, "/") {
		target = dir + "/" + target
	}
	if len(target) > maxPath {
		return &os.PathError{Op: "mkdir", Path: base, Err: unix.ENAMETOOLONG}
	}
	return t.makeAll(target, hops-1)
}

// mkdir makes a directory of the archive. implied: for which it has no member (IMG-50). Through links
// short names reach a tree that is deeper than the path of its members can tell: removing it would take
// a descriptor for each of its 80,000 levels (IMG-57).
func (t *tree) mkdir(at *os.File, base string, implied bool) error {
	name, err := t.realName(at, base)
	if err != nil && !errors.Is(err, unix.ENAMETOOLONG) {
		return err
	}
	if err != nil || len(name) > maxTreePath {
		return &UnsafeError{Member: base,
			Reason: fmt.Sprintf("is a directory whose path, without links, is longer than %d bytes", maxTreePath)}
	}
	if t.made != nil {
		if err := t.made(implied); err != nil {
			return err
		}
	}

	return mkdir(at, base)
}

// mkdir makes a directory with mode 0755, independent of the umask.
func mkdir(at *os.File, base string) error {
	if err := unix.Mkdirat(int(at.Fd()), base, 0o755); err != nil {
		return &os.PathError{Op: "mkdir", Path: base, Err: err}
	}
	return chmod(at, base, 0o755)
}

// chmod sets the mode of a member that is known not to be a link: fchmodat
// follows links, and fchmodat2 (Linux 6.6) is too new to need.
func chmod(at *os.File, base string, mode uint16) error {
	fd, err := unix.Openat(int(at.Fd()), base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: base, Err: err}
	}
	defer unix.Close(fd)
	if err := unix.Fchmod(fd, uint32(mode)); err != nil {
		return &os.PathError{Op: "chmod", Path: base, Err: err}
	}
	return nil
}

// Sums are the sha256 of the regular files of a tree, by their inodes. They are computed while the files
// are written: nothing has to be read again. Every file of the tree must have been made with them, or
// an inode that was used twice would have the sum of the first file.
type Sums map[uint64][sha256.Size]byte

// create makes a new file and fills it with exactly size bytes from body, which may have more.
func (t *tree) create(at *os.File, base string, mode uint16, size int64, body io.Reader) (err error) {
	fd, err := unix.Openat(int(at.Fd()), base,
		unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "create", Path: base, Err: err}
	}

	f := os.NewFile(uintptr(fd), base)
	defer func() { err = errors.Join(err, f.Close()) }()

	if t.buf == nil {
		t.buf = make([]byte, 256<<10)
	}

	sum := sha256.New()
	for left := size; left > 0; {
		n, err := io.ReadFull(body, t.buf[:min(left, int64(len(t.buf)))])
		if err != nil {
			return fmt.Errorf("write %d of %d bytes: %w", size-left+int64(n), size, unexpected(err))
		}
		sum.Write(t.buf[:n])
		if _, err := f.Write(t.buf[:n]); err != nil {
			return fmt.Errorf("write %d of %d bytes: %w", size-left, size, err)
		}
		left -= int64(n)
	}

	if t.sums != nil {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return &os.PathError{Op: "fstat", Path: base, Err: err}
		}
		t.sums[st.Ino] = [sha256.Size]byte(sum.Sum(nil))
	}
	if err := unix.Fchmod(fd, uint32(mode)); err != nil {
		return &os.PathError{Op: "chmod", Path: base, Err: err}
	}
	return nil
}

// setTime sets the times of a member itself; it follows no link.
func setTime(at *os.File, base string, mtime int64) error {
	ts := unix.NsecToTimespec(mtime)
	if err := unix.UtimesNanoAt(int(at.Fd()), base, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "utimensat", Path: base, Err: err}
	}
	return nil
}

// lstat describes a member without following it.
func lstat(at *os.File, base string) (unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Fstatat(int(at.Fd()), base, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return st, &os.PathError{Op: "lstat", Path: base, Err: err}
	}
	return st, nil
}

// removeAll removes a member and, if it is a directory, everything in it.
func removeAll(at *os.File, base string) error {
	err := unix.Unlinkat(int(at.Fd()), base, 0)
	switch err {
	case nil, unix.ENOENT:
		return nil
	case unix.EISDIR, unix.EPERM: // POSIX has EPERM for a directory, Linux EISDIR
	default:
		return &os.PathError{Op: "unlink", Path: base, Err: err}
	}

	fd, err := unix.Openat(int(at.Fd()), base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: base, Err: err}
	}

	dir := os.NewFile(uintptr(fd), base)
	defer dir.Close()

	for {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			if err := removeAll(dir, name); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}

	if err := unix.Unlinkat(int(at.Fd()), base, unix.AT_REMOVEDIR); err != nil {
		return &os.PathError{Op: "rmdir", Path: base, Err: err}
	}
	return nil
}
