package cell

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/mount"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A Scratch is the one file system that a run can write to. Its root holds box, tmp and shm, which
// the shell mounts in their places; size and inodes limit the three together. The agent keeps the
// root: inputs go in and outputs come out through it, never through a path inside the cell.
type Scratch struct {
	Root   *os.File
	Box    *os.File
	size   api.Size
	inodes int64
}

// A ScratchSize bounds a scratch.
type ScratchSize struct {
	Size   api.Size
	Inodes int64
}

// scratchDirs are the directories at the root of a scratch and their modes.
var scratchDirs = []struct {
	name string
	mode uint32
}{{"box", 0o755}, {"tmp", 0o1777}, {"shm", 0o1777}}

// NewScratch makes a scratch for host ids uid and gid. It is not charged to the run: the run's
// group is charged for the pages that the run itself writes.
func NewScratch(size api.Size, inodes int64, uid, gid int) (_ *Scratch, err error) {
	root, err := mount.NewTmpfs(mount.AttrScratch, [2]string{"size", strconv.FormatInt(int64(size), 10)},
		[2]string{"nr_inodes", strconv.FormatInt(inodes+int64(len(scratchDirs))+1, 10)}, [2]string{"mode", "0755"})
	if err != nil {
		return nil, err
	}

	s := &Scratch{Root: root, size: size, inodes: inodes}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()

	for _, d := range scratchDirs {
		if err := unix.Mkdirat(linux.FD(root), d.name, 0o700); err != nil {
			return nil, fmt.Errorf("scratch %s: %w", d.name, err)
		}
		if err := unix.Fchownat(linux.FD(root), d.name, uid, gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return nil, fmt.Errorf("scratch %s: %w", d.name, err)
		}
		if err := unix.Fchmodat(linux.FD(root), d.name, d.mode, 0); err != nil { // the umask does not apply here
			return nil, fmt.Errorf("scratch %s: %w", d.name, err)
		}
	}

	n, err := unix.Openat(linux.FD(root), "box", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("scratch box: %w", err)
	}

	s.Box = os.NewFile(uintptr(n), "box")
	return s, nil
}

// makePackages makes the directory of the box that an installer finds at /packages, too.
func (s *Scratch) makePackages(uid, gid int) error {
	if err := makeDirs(s.Box, plan.PackagesDir, map[string]bool{".": true}, uid, gid); err != nil {
		return fmt.Errorf("scratch: %w", err)
	}
	return nil
}

// Resize changes the limits of a scratch that has not been written to yet.
func (s *Scratch) Resize(size api.Size, inodes int64) error {
	if size == s.size && inodes == s.inodes {
		return nil
	}
	err := s.reconfigure([2]string{"size", strconv.FormatInt(int64(size), 10)},
		[2]string{"nr_inodes", strconv.FormatInt(inodes+int64(len(scratchDirs))+1, 10)})
	if err == nil {
		s.size, s.inodes = size, inodes
	}
	return err
}

// largeFolios sets whether files written from now on may use large folios: a file of 2 MiB is then
// written in a quarter of the time (docs/reports/performance.md). A run gets none: it is charged for the
// parts of a mapping that it touches. Kernels without transparent huge pages do not know the option
// (EINVAL), and write page by page. Folios of any size since Linux 6.14; before that, of 2 MiB.
func (s *Scratch) largeFolios(on bool) error {
	huge := "never"
	if on {
		huge = "within_size"
	}
	if err := s.reconfigure([2]string{"huge", huge}); !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

func (s *Scratch) reconfigure(options ...[2]string) error {
	ctx, err := unix.Fspick(linux.FD(s.Root), "", unix.FSPICK_EMPTY_PATH|unix.FSPICK_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("fspick", err)
	}
	defer unix.Close(ctx)

	for _, o := range options {
		if err := unix.FsconfigSetString(ctx, o[0], o[1]); err != nil {
			return fmt.Errorf("tmpfs %s=%s: %w", o[0], o[1], err)
		}
	}

	if err := unix.FsconfigReconfigure(ctx); err != nil {
		return os.NewSyscallError("fsconfig reconfigure", err)
	}
	return nil
}

// Used returns how much a scratch contains, without its own directories.
func (s *Scratch) Used() (bytes, inodes int64, err error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(linux.FD(s.Root), &st); err != nil {
		return 0, 0, os.NewSyscallError("fstatfs", err)
	}
	return int64(st.Blocks-st.Bfree) * st.Bsize, int64(st.Files-st.Ffree) - int64(len(scratchDirs)) - 1, nil
}

// Full reports whether no byte, or no inode, is left to write.
func (s *Scratch) Full() (bytes, inodes bool, err error) { return mount.Full(s.Root) }

// Close closes the agent's handles; the last handle frees the scratch.
func (s *Scratch) Close() error {
	err := s.Root.Close()
	if s.Box != nil {
		err = errors.Join(err, s.Box.Close())
	}
	return err
}
