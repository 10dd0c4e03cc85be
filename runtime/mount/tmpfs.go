// Package mount makes mounts by handle, with the calls of Linux 5.2 and later: no path inside a cell is
// resolved.
package mount

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/ablate"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// NewTmpfs makes a detached tmpfs and returns its root. Closing the last handle frees it. fsopen
// and fsmount since Linux 5.2.
func NewTmpfs(attr int, options ...[2]string) (*os.File, error) {
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
	if ablate.Off(ablate.Nosuid) {
		attr &^= unix.MOUNT_ATTR_NOSUID
	}
	if ablate.Off(ablate.Nodev) {
		attr &^= unix.MOUNT_ATTR_NODEV
	}

	mnt, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return nil, os.NewSyscallError("fsmount tmpfs", err)
	}
	return os.NewFile(uintptr(mnt), "tmpfs"), nil
}

// MoveMount attaches a detached mount to an existing directory.
func MoveMount(mnt *os.File, dir string) error {
	err := unix.MoveMount(linux.FD(mnt), "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("move mount to %s: %w", dir, err)
	}
	return nil
}

// CloneTree makes a detached copy of the tree at dir, with attr set on it and,
// where userns is given, its ids shifted by that namespace.
//
// open_tree since Linux 5.2; mount_setattr and idmapped mounts since 5.12 (ext4,
// vfat), xfs 5.12, btrfs 5.15, tmpfs 6.3.
func CloneTree(dir *os.File, attr uint64, userns *os.File) (*os.File, error) {
	n, err := unix.OpenTree(linux.FD(dir), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return nil, os.NewSyscallError("open_tree", err)
	}

	tree := os.NewFile(uintptr(n), "tree")
	if ablate.Off(ablate.ReadOnly) {
		attr &^= unix.MOUNT_ATTR_RDONLY
	}
	if ablate.Off(ablate.Nosuid) {
		attr &^= unix.MOUNT_ATTR_NOSUID
	}
	if ablate.Off(ablate.Nodev) {
		attr &^= unix.MOUNT_ATTR_NODEV
	}

	set := unix.MountAttr{Attr_set: attr, Propagation: unix.MS_PRIVATE}
	if userns != nil {
		set.Attr_set |= unix.MOUNT_ATTR_IDMAP
		set.Userns_fd = uint64(linux.FD(userns))
	}
	if err := unix.MountSetattr(n, "", unix.AT_EMPTY_PATH, &set); err != nil {
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
			err = api.Refuse(api.CodeUnsupported,
				"the file system of the image store does not support idmapped mounts (mount_setattr, Linux 5.12; "+
					"ext4, xfs and btrfs do, tmpfs from 6.3): keep the store on one that does")
		}
		return nil, errors.Join(err, tree.Close())
	}

	return tree, nil
}

const (
	AttrScratch = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	AttrImage   = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_RDONLY
)

// Full is scratch.full for any handle on a file system.
func Full(f *os.File) (bytes, inodes bool, err error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(linux.FD(f), &st); err != nil {
		return false, false, os.NewSyscallError("fstatfs", err)
	}
	return st.Bfree == 0, st.Ffree == 0, nil
}
