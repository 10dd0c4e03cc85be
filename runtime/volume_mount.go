package runtime

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// hang mounts a volume twice, where nobody sees it: a mount that hangs nowhere goes
// with its last handle, so that a SIGKILL leaves none. It is the same file system both
// times, and the same for every session that has it: the kernel knows it by its device.
func (m *volume) hang(device string, userns *os.File) (err error) {
	if m.ours, err = m.all.mountExt4(device, m.name, m.readOnly); err != nil {
		return err
	}
	if m.theirs, err = m.all.mountExt4(device, m.name, m.readOnly); err != nil {
		return err
	}
	return m.all.shift(m.theirs, userns)
}

// shift has a mount show the ids of the namespace for those on disk.
func (all *volumes) shift(mount, userns *os.File) error {
	err := unix.MountSetattr(fd(mount), "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Propagation: unix.MS_PRIVATE, Userns_fd: uint64(fd(userns))})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return all.lacks("idmapped mounts of ext4 (Linux 5.12)", err)
	}
	return os.NewSyscallError("mount_setattr", err)
}

func (all *volumes) openFS(kind string) (ctx int, err error) {
	ctx, err = unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.ENODEV) {
		return -1, all.lacks(fmt.Sprintf("%s (CONFIG_%s_FS; modprobe %[1]s)", kind, strings.ToUpper(kind)), err)
	}
	return ctx, os.NewSyscallError("fsopen "+kind, err)
}

// mountable refuses to make a volume where none can be mounted.
func (all *volumes) mountable() error {
	ctx, err := all.openFS("ext4")
	if err != nil {
		return err
	}
	ctl, err := all.loopControl()
	if err == nil {
		err = ctl.Close()
	}
	return errors.Join(err, unix.Close(ctx))
}

// mountExt4 mounts a device. It is nosuid and nodev: what a program leaves in a volume
// is another's to execute.
func (all *volumes) mountExt4(device, name string, readOnly bool) (*os.File, error) {
	ctx, err := all.openFS("ext4")
	if err != nil {
		return nil, err
	}
	defer unix.Close(ctx)
	err = errors.Join(
		unix.FsconfigSetString(ctx, "source", device),
		unix.FsconfigSetString(ctx, "errors", "remount-ro"),
		unix.FsconfigSetFlag(ctx, "noinit_itable"), // they are zeros already
	)
	if err != nil {
		return nil, os.NewSyscallError("fsconfig ext4", err)
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		all.log.Error("volume not mounted: the kernel's log may say more", "volume", name, "device", device, "err", err)
		switch {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EUCLEAN), errors.Is(err, unix.EBADMSG), errors.Is(err, unix.EIO), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EFBIG):
			return nil, badVolume(name, "its file system is damaged, or its file is cut short")
		case errors.Is(err, unix.EROFS):
			return nil, all.lacks("a feature of its file system", err)
		}
		return nil, os.NewSyscallError("fsconfig ext4 create", err)
	}
	attr := unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	if readOnly {
		attr |= unix.MOUNT_ATTR_RDONLY
	}
	n, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return nil, os.NewSyscallError("fsmount ext4", err)
	}
	return os.NewFile(uintptr(n), "volume"), nil
}

// tidy removes what mkfs has put into a volume, and no program could.
func tidy(root *os.File) error {
	var st unix.Stat_t
	err := unix.Fstatat(fd(root), "lost+found", &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && st.Uid == 0 {
		err = unix.Unlinkat(fd(root), "lost+found", unix.AT_REMOVEDIR)
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTEMPTY) { // e2fsck has put something there
		return nil
	}
	return os.NewSyscallError("lost+found", err)
}

// handOver is done when the session's shell has hung its mount in.
func (m *volume) handOver() error {
	err := m.theirs.Close()
	m.theirs = nil
	return err
}

// info tells how the volume is.
func (m *volume) info() (*api.MountedVolume, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd(m.ours), &st); err != nil {
		return nil, fmt.Errorf("statfs of volume %q: %w", m.name, err)
	}
	return &api.MountedVolume{
		Name: m.name, Size: m.size, Used: int64(st.Blocks-st.Bfree) * st.Bsize, Free: int64(st.Bavail) * st.Bsize, Inodes: int64(st.Ffree),
		ReadOnly: m.readOnly, Shared: m.shared,
	}, nil
}
