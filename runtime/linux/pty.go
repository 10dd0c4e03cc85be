package linux

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenPTY makes a pair of pseudo terminals of a size, owned by a user, in a devpts of their own: nothing else is
// in it, and no path of the host leads to it. The caller closes both. The master does not block.
func OpenPTY(rows, cols int, uid, gid int) (master, slave *os.File, err error) {
	instance, err := unix.Fsopen("devpts", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, nil, os.NewSyscallError("fsopen devpts", err)
	}
	defer unix.Close(instance)

	if err := unix.FsconfigCreate(instance); err != nil {
		return nil, nil, os.NewSyscallError("fsconfig devpts", err)
	}

	mnt, err := unix.Fsmount(instance, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, nil, os.NewSyscallError("fsmount devpts", err)
	}
	defer unix.Close(mnt)

	m, err := unix.Openat(mnt, "ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("open ptmx", err)
	}

	master = os.NewFile(uintptr(m), "pty master")
	if slave, err = openSlave(m, rows, cols, uid, gid); err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, slave, nil
}

// openSlave opens the other side of a master, without a path (TIOCGPTPEER, Linux 4.13).
func openSlave(master, rows, cols, uid, gid int) (*os.File, error) {
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return nil, os.NewSyscallError("ioctl TIOCSPTLCK", err)
	}

	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, flags)
	if errno != 0 {
		return nil, os.NewSyscallError("ioctl TIOCGPTPEER", errno)
	}

	slave := os.NewFile(fd, "pty slave")
	size := &unix.Winsize{Row: uint16(rows), Col: uint16(cols)}
	if err := errors.Join(unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size), unix.Fchown(int(fd), uid, gid)); err != nil {
		return nil, errors.Join(fmt.Errorf("pty: %w", err), slave.Close())
	}
	return slave, nil
}
