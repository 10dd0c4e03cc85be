package cell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/mount"
)

const attrDev = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY

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
	mnt, err := mount.NewTmpfs(unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, [2]string{"size", "64k"},
		[2]string{"nr_inodes", "32"}, [2]string{"mode", "0755"})
	if err != nil {
		return err
	}
	defer mnt.Close()

	if err := mount.MoveMount(mnt, dir); err != nil {
		return err
	}

	undo := rollback.On(&err)
	defer undo.Run()

	undo.Add(func() error { return unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) })
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

	undo.Release()
	return nil
}

// TryDev makes the /dev of a cell below a directory and removes it again: so a missing requirement is found when the
// agent starts, and not with the first run.
func TryDev(below string) error {
	dir := filepath.Join(below, "dev")
	if err := os.Mkdir(dir, 0o711); err != nil {
		return err
	}
	err := makeDev(dir)
	if uerr := unix.Unmount(dir, unix.MNT_DETACH); !errors.Is(uerr, unix.EINVAL) { // EINVAL: nothing was mounted
		err = errors.Join(err, uerr)
	}
	return errors.Join(err, os.Remove(dir))
}
