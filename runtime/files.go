package runtime

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// resolveBeneath keeps a lookup below the directory it starts from, whatever the
// program made of the tree: no link of any kind is followed and no mount crossed
// (CVE-2024-28185, go-judge #176; FIO-01, FIO-02, FIO-08). openat2 since Linux 5.6.
const resolveBeneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// openBeneath opens name below dir.
func openBeneath(dir *os.File, name string, flags, mode uint64) (*os.File, error) {
	n, err := unix.Openat2(fd(dir), name, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Mode: mode, Resolve: resolveBeneath})
	if err != nil {
		return nil, &os.PathError{Op: "openat2", Path: name, Err: err}
	}
	return os.NewFile(uintptr(n), name), nil
}

// A stamp identifies a file's content as it was placed. A program can set a file's
// mtime, but not its ctime; a change within the clock's tick of the placing, which
// leaves ctime as it was before Linux 6.13 (multigrain timestamps), moves mtime away
// from the past where placing put it. A write through a shared mapping moves neither on
// tmpfs (its pages are writable from the first fault on), so the bytes decide in the end.
type stamp struct {
	ino          uint64
	ctime, mtime unix.Timespec
}

func stampOf(st *unix.Stat_t) stamp { return stamp{st.Ino, st.Ctim, st.Mtim} }

// An input is a file as it was placed.
type input struct {
	stamp
	content []byte
	made    bool // an artifact, which nobody takes for output: its stamp decides
}

// placedBefore is how many seconds older than the run its inputs look.
const placedBefore = 1

// largeFile is the size from which files are worth two more system calls.
const largeFile = 128 << 10

// place writes the inputs, and what the compile stage made of some, below the box of
// a scratch.
func (s *scratch) place(files, made []api.File, uid, gid int) (placed map[string]input, err error) {
	all := slices.Concat(files, made)
	if slices.ContainsFunc(all, func(f api.File) bool { return len(f.Content) >= largeFile }) {
		if err := s.largeFolios(true); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.largeFolios(false)) }()
	}
	if placed, err = place(s.box, all, uid, gid); err != nil {
		return nil, err
	}
	for _, f := range made {
		placed[f.Name] = input{stamp: placed[f.Name].stamp, made: true}
	}
	return placed, nil
}

// place writes the inputs below box, which nobody else has touched yet, and
// returns what they looked like then. Everything belongs to the run.
func place(box *os.File, files []api.File, uid, gid int) (map[string]input, error) {
	if len(files) == 0 {
		return nil, nil
	}
	placed := make(map[string]input, len(files))
	made := map[string]bool{".": true}
	for _, f := range files {
		if err := makeDirs(box, path.Dir(f.Name), made, uid, gid); err != nil {
			return nil, placeError(f.Name, err)
		}
		s, err := placeFile(box, f, uid, gid)
		if err != nil {
			return nil, placeError(f.Name, err)
		}
		placed[f.Name] = input{stamp: s, content: f.Content}
	}
	return placed, nil
}

// placeError tells inputs that do not fit from failures of ours.
func placeError(name string, err error) error {
	if errors.Is(err, unix.ENOSPC) {
		return api.Refuse(api.CodeBadFile, "file %q does not fit into the scratch limit: raise limits.scratch or limits.inodes", name)
	}
	return fmt.Errorf("place file %q: %w", name, err)
}

func placeFile(box *os.File, f api.File, uid, gid int) (stamp, error) {
	mode := uint64(0o644)
	if f.Executable {
		mode = 0o755
	}
	// A cell being started elsewhere forks; its child would hold the file open for
	// writing until it execs, and the run could not execute it (ETXTBSY; FIO-13).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	file, err := openBeneath(box, f.Name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, mode)
	if err != nil {
		return stamp{}, err
	}
	defer file.Close() // before the program starts, or it could not be executed (ETXTBSY; FIO-13)
	if _, err := file.Write(f.Content); err != nil {
		return stamp{}, err
	}
	if err := errors.Join(unix.Fchown(fd(file), uid, gid), unix.Fchmod(fd(file), uint32(mode))); err != nil {
		return stamp{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd(file), &st); err != nil {
		return stamp{}, err
	}
	st.Mtim.Sec -= placedBefore
	if err := unix.UtimesNanoAt(fd(file), "", []unix.Timespec{st.Mtim, st.Mtim}, unix.AT_EMPTY_PATH); err != nil {
		return stamp{}, err
	}
	if err := unix.Fstat(fd(file), &st); err != nil { // for ctime, which that has moved
		return stamp{}, err
	}
	return stampOf(&st), nil
}

func makeDirs(box *os.File, dir string, made map[string]bool, uid, gid int) error {
	if made[dir] {
		return nil
	}
	if err := makeDirs(box, path.Dir(dir), made, uid, gid); err != nil {
		return err
	}
	parent, err := openBeneath(box, path.Dir(dir), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer parent.Close()
	base := path.Base(dir)
	if err := unix.Mkdirat(fd(parent), base, 0o755); err != nil {
		return &os.PathError{Op: "mkdirat", Path: dir, Err: err}
	}
	made[dir] = true
	return errors.Join(
		unix.Fchownat(fd(parent), base, uid, gid, unix.AT_SYMLINK_NOFOLLOW),
		unix.Fchmodat(fd(parent), base, 0o755, 0))
}
