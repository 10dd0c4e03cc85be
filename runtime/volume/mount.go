package volume

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// mount mounts a volume twice, both detached: a detached mount disappears with its last handle, so
// that a SIGKILL leaves none. Both are the same file system, also the same for every session that
// uses the volume: the kernel identifies it by its device.
func (m *Mounted) mount(device string, userns *os.File) (err error) {
	if m.AgentMount, err = m.store.mountExt4(device, m.name, m.readOnly); err != nil {
		return err
	}
	if m.SessionMount, err = m.store.mountExt4(device, m.name, m.readOnly); err != nil {
		return err
	}
	return m.store.idmap(m.SessionMount, userns)
}

// idmap makes a mount show the ids of the namespace instead of those on disk.
func (s *Store) idmap(mount, userns *os.File) error {
	err := unix.MountSetattr(linux.FD(mount), "", unix.AT_EMPTY_PATH,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Propagation: unix.MS_PRIVATE, Userns_fd: uint64(linux.FD(userns))})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return s.unsupported("idmapped mounts of ext4 (Linux 5.12)", err)
	}
	return os.NewSyscallError("mount_setattr", err)
}

func (s *Store) openFS(kind string) (ctx int, err error) {
	ctx, err = unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.ENODEV) {
		return -1, s.unsupported(fmt.Sprintf("%s (CONFIG_%s_FS; modprobe %[1]s)", kind, strings.ToUpper(kind)), err)
	}
	return ctx, os.NewSyscallError("fsopen "+kind, err)
}

// mountable returns an error if this host cannot mount volumes, before one is made.
func (s *Store) mountable() error {
	ctx, err := s.openFS("ext4")
	if err != nil {
		return err
	}
	ctl, err := s.loopControl()
	if err == nil {
		err = ctl.Close()
	}
	return errors.Join(err, unix.Close(ctx))
}

// mountExt4 mounts a device. The mount is nosuid and nodev: another program may execute what a
// program leaves in a volume.
func (s *Store) mountExt4(device, name string, readOnly bool) (*os.File, error) {
	ctx, err := s.openFS("ext4")
	if err != nil {
		return nil, err
	}
	defer unix.Close(ctx)

	err = errors.Join(
		unix.FsconfigSetString(ctx, "source", device),
		unix.FsconfigSetString(ctx, "errors", "remount-ro"),
		unix.FsconfigSetFlag(ctx, "noinit_itable"), // the tables are zeros already
	)
	if err != nil {
		return nil, os.NewSyscallError("fsconfig ext4", err)
	}

	if err := unix.FsconfigCreate(ctx); err != nil {
		s.log.Error("volume not mounted: the kernel's log may say more", "volume", name, "device", device, "err", err)
		switch {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EUCLEAN), errors.Is(err, unix.EBADMSG),
			errors.Is(err, unix.EIO), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EFBIG):
			return nil, badVolume(name, "its file system is damaged, or its file is truncated")
		case errors.Is(err, unix.EROFS):
			return nil, s.unsupported("a feature of its file system", err)
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

// removeLostFound removes lost+found, which mkfs has made. It belongs to root, so no program can have made it.
func removeLostFound(root *os.File) error {
	var st unix.Stat_t
	err := unix.Fstatat(linux.FD(root), "lost+found", &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && st.Uid == 0 {
		err = unix.Unlinkat(linux.FD(root), "lost+found", unix.AT_REMOVEDIR)
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTEMPTY) { // e2fsck has put something there
		return nil
	}
	return os.NewSyscallError("lost+found", err)
}

// CloseSessionMount closes the agent's handle of the session's mount, after the session's shell has mounted
// it.
func (m *Mounted) CloseSessionMount() error {
	err := m.SessionMount.Close()
	m.SessionMount = nil
	return err
}

// Info describes the mounted volume.
func (m *Mounted) Info() (*api.MountedVolume, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(linux.FD(m.AgentMount), &st); err != nil {
		return nil, fmt.Errorf("statfs of volume %q: %w", m.name, err)
	}
	return &api.MountedVolume{
		Name: m.name, Run: m.run, Size: m.Size, Used: int64(st.Blocks-st.Bfree) * st.Bsize, Free: int64(st.Bavail) * st.Bsize,
		Inodes:   int64(st.Ffree),
		ReadOnly: m.readOnly, Shared: m.shared,
	}, nil
}
