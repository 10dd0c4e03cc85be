package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// newTmpfs makes a detached tmpfs and returns its root. Closing the last handle frees it. fsopen
// and fsmount since Linux 5.2.
func newTmpfs(attr int, options ...[2]string) (*os.File, error) {
	ctx, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("fsopen tmpfs", err)
	}
	defer unix.Close(ctx)
	for _, o := range options {
		if err := unix.FsconfigSetString(ctx, o[0], o[1]); err != nil {
			return nil, fmt.Errorf("tmpfs %s=%s: %w", o[0], o[1], err)
		}
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return nil, os.NewSyscallError("fsconfig tmpfs", err)
	}
	if ablated(offNosuid) {
		attr &^= unix.MOUNT_ATTR_NOSUID
	}
	if ablated(offNodev) {
		attr &^= unix.MOUNT_ATTR_NODEV
	}
	mnt, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return nil, os.NewSyscallError("fsmount tmpfs", err)
	}
	return os.NewFile(uintptr(mnt), "tmpfs"), nil
}

// moveMount attaches a detached mount to an existing directory.
func moveMount(mnt *os.File, dir string) error {
	err := unix.MoveMount(linux.FD(mnt), "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("move mount to %s: %w", dir, err)
	}
	return nil
}

// cloneTree makes a detached copy of the tree at dir, with attr set on it and,
// where userns is given, its ids shifted by that namespace.
//
// open_tree since Linux 5.2; mount_setattr and idmapped mounts since 5.12 (ext4,
// vfat), xfs 5.12, btrfs 5.15, tmpfs 6.3.
func cloneTree(dir *os.File, attr uint64, userns *os.File) (*os.File, error) {
	n, err := unix.OpenTree(linux.FD(dir), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return nil, os.NewSyscallError("open_tree", err)
	}
	tree := os.NewFile(uintptr(n), "tree")
	if ablated(offReadOnly) {
		attr &^= unix.MOUNT_ATTR_RDONLY
	}
	if ablated(offNosuid) {
		attr &^= unix.MOUNT_ATTR_NOSUID
	}
	if ablated(offNodev) {
		attr &^= unix.MOUNT_ATTR_NODEV
	}
	set := unix.MountAttr{Attr_set: attr, Propagation: unix.MS_PRIVATE}
	if userns != nil {
		set.Attr_set |= unix.MOUNT_ATTR_IDMAP
		set.Userns_fd = uint64(linux.FD(userns))
	}
	if err := unix.MountSetattr(n, "", unix.AT_EMPTY_PATH, &set); err != nil {
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
			err = api.Refuse(api.CodeUnsupported, "the file system of the image store does not support idmapped mounts (mount_setattr, Linux 5.12; ext4, xfs and btrfs do, tmpfs from 6.3): keep the store on one that does")
		}
		return nil, errors.Join(err, tree.Close())
	}
	return tree, nil
}

const (
	attrScratch = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	attrImage   = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_RDONLY
	attrDev     = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY
)

// devices are the nodes of a cell's /dev: only those that generate or discard bytes.
var devices = []struct {
	name         string
	major, minor uint32
}{
	{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9},
}

// makeDev mounts the /dev of a cell on dir, read-only: so each shell copies one mount instead of
// one per device. It also keeps libcontainer from making its own /dev (CVE-2025-31133, -52565 were
// in that code).
func makeDev(dir string) (err error) {
	mnt, err := newTmpfs(unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, [2]string{"size", "64k"}, [2]string{"nr_inodes", "32"}, [2]string{"mode", "0755"})
	if err != nil {
		return err
	}
	defer mnt.Close()
	if err := moveMount(mnt, dir); err != nil {
		return err
	}
	undo := undoing(&err)
	defer undo.run()
	undo.add(func() error { return unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) })
	for _, d := range devices {
		path := filepath.Join(dir, d.name)
		if err := unix.Mknod(path, unix.S_IFCHR, int(unix.Mkdev(d.major, d.minor))); err != nil {
			return fmt.Errorf("mknod %s: %w", d.name, err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "shm"), 0o755); err != nil {
		return err
	}
	if err := unix.MountSetattr(linux.FD(mnt), "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: attrDev}); err != nil {
		return os.NewSyscallError("mount_setattr", err)
	}
	undo.release()
	return nil
}

// tryDev makes the /dev of a cell and removes it again: so a missing requirement is found when the
// agent starts, and not with the first run.
func (h *Host) tryDev() error {
	dir := filepath.Join(h.instance.mnt(), "dev")
	if err := os.Mkdir(dir, 0o711); err != nil {
		return err
	}
	err := makeDev(dir)
	if uerr := unix.Unmount(dir, unix.MNT_DETACH); !errors.Is(uerr, unix.EINVAL) { // EINVAL: nothing was mounted
		err = errors.Join(err, uerr)
	}
	return errors.Join(err, os.Remove(dir))
}

// A scratch is the one file system that a run can write to. Its root holds box, tmp and shm, which
// the shell mounts in their places; size and inodes limit the three together. The agent keeps the
// root: inputs go in and outputs come out through it, never through a path inside the cell.
type scratch struct {
	root   *os.File
	box    *os.File
	size   api.Size
	inodes int64
}

// scratchDirs are the directories at the root of a scratch and their modes.
var scratchDirs = []struct {
	name string
	mode uint32
}{{"box", 0o755}, {"tmp", 0o1777}, {"shm", 0o1777}}

// newScratch makes a scratch for host ids uid and gid. It is not charged to the run: the run's
// group is charged for the pages that the run itself writes.
func newScratch(size api.Size, inodes int64, uid, gid int) (_ *scratch, err error) {
	root, err := newTmpfs(attrScratch, [2]string{"size", strconv.FormatInt(int64(size), 10)},
		[2]string{"nr_inodes", strconv.FormatInt(inodes+int64(len(scratchDirs))+1, 10)}, [2]string{"mode", "0755"})
	if err != nil {
		return nil, err
	}
	s := &scratch{root: root, size: size, inodes: inodes}
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
	s.box = os.NewFile(uintptr(n), "box")
	return s, nil
}

// resize changes the limits of a scratch that has not been written to yet.
func (s *scratch) resize(size api.Size, inodes int64) error {
	if size == s.size && inodes == s.inodes {
		return nil
	}
	err := s.reconfigure([2]string{"size", strconv.FormatInt(int64(size), 10)}, [2]string{"nr_inodes", strconv.FormatInt(inodes+int64(len(scratchDirs))+1, 10)})
	if err == nil {
		s.size, s.inodes = size, inodes
	}
	return err
}

// largeFolios sets whether files written from now on may use large folios: a file of 2 MiB is then
// written in a quarter of the time (docs/performance.md). A run gets none: it is charged for the
// parts of a mapping that it touches. Kernels without transparent huge pages do not know the option
// (EINVAL), and write page by page. Folios of any size since Linux 6.14; before that, of 2 MiB.
func (s *scratch) largeFolios(on bool) error {
	huge := "never"
	if on {
		huge = "within_size"
	}
	if err := s.reconfigure([2]string{"huge", huge}); !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

func (s *scratch) reconfigure(options ...[2]string) error {
	ctx, err := unix.Fspick(linux.FD(s.root), "", unix.FSPICK_EMPTY_PATH|unix.FSPICK_CLOEXEC)
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

// used returns how much a scratch contains, without its own directories.
func (s *scratch) used() (bytes, inodes int64, err error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(linux.FD(s.root), &st); err != nil {
		return 0, 0, os.NewSyscallError("fstatfs", err)
	}
	return int64(st.Blocks-st.Bfree) * st.Bsize, int64(st.Files-st.Ffree) - int64(len(scratchDirs)) - 1, nil
}

// full reports whether no byte, or no inode, is left to write.
func (s *scratch) full() (bytes, inodes bool, err error) { return full(s.root) }

// full is scratch.full for any handle on a file system.
func full(f *os.File) (bytes, inodes bool, err error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(linux.FD(f), &st); err != nil {
		return false, false, os.NewSyscallError("fstatfs", err)
	}
	return st.Bfree == 0, st.Ffree == 0, nil
}

func (s *scratch) Close() error {
	err := s.root.Close()
	if s.box != nil {
		err = errors.Join(err, s.box.Close())
	}
	return err
}
