package linux

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// SealedMemfd puts content in a file without a name. Nobody can change it, with any handle of it
// (CVE-2019-5736; FS-08). memfd_create since Linux 3.17. MFD_EXEC and its absence mean the same
// while vm.memfd_noexec is 0 or 1.
func SealedMemfd(name string, content []byte, exec bool) (*os.File, error) {
	return SealedCopy(name, bytes.NewReader(content), exec)
}

// SealedCopy is SealedMemfd with what from yields.
//
// Only its owner may open it for writing. The kernel makes memfds with mode 0777, and while any process
// has one open for writing, although a seal refuses the writes, nobody can execute it: ETXTBSY
// (fs/exec.c, exe_file_deny_write_access; TPL-05).
func SealedCopy(name string, from io.Reader, exec bool) (*os.File, error) {
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	if exec {
		flags |= unix.MFD_EXEC
	}

	fd, err := unix.MemfdCreate(name, flags)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 MFD_EXEC is unknown and every memfd may be executed
		fd, err = unix.MemfdCreate(name, flags&^unix.MFD_EXEC)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}

	f := os.NewFile(uintptr(fd), name)
	if err = fill(f, from); err == nil {
		err = f.Chmod(sealedMode(exec))
	}
	if err == nil {
		err = keepAccessTime(f)
	}
	if err == nil {
		err = seal(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// fill copies a file, or the rest of one, within the kernel (sendfile): through a buffer of this process a copy of
// brigd took twice as long, which is a tenth of the agent's start.
func fill(f *os.File, from io.Reader) error {
	source, left := from, int64(math.MaxInt64)
	if l, ok := from.(*io.LimitedReader); ok {
		source, left = l.R, l.N
	}
	file, ok := source.(*os.File)
	if !ok {
		_, err := io.Copy(f, from)
		return err
	}

	for left > 0 {
		n, err := unix.Sendfile(FD(f), FD(file), nil, int(min(left, 1<<30)))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return os.NewSyscallError("sendfile", err)
		case n == 0:
			return nil
		default:
			left -= int64(n)
		}
	}
	return nil
}

// keepAccessTime has the kernel note no more accesses of a file. A run sees the times of the file that it
// executes: by them it would learn when the last run of any caller began from the same template
// (TPL-13). Kernels before 6.0, and those without CONFIG_TMPFS_XATTR, have no such flag for memfds
// (mm/shmem.c, shmem_fileattr_set).
func keepAccessTime(f *os.File) error {
	const noatime = 0x80 // FS_NOATIME_FL (linux/fs.h)
	err := unix.IoctlSetPointerInt(FD(f), unix.FS_IOC_SETFLAGS, noatime)
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return os.NewSyscallError("FS_IOC_SETFLAGS", err)
}

func sealedMode(exec bool) os.FileMode {
	if exec {
		return 0o555
	}
	return 0o444
}

// sealTimeout is how long a page may be busy before sealing gives up: the kernel
// itself waits some 0.2 s.
const sealTimeout = 10 * time.Second

// seal adds every seal. The kernel refuses F_SEAL_WRITE while anything holds a page (mm/memfd.c,
// memfd_wait_for_pins). Reclaim or compaction on a busy host does so for a moment, although no
// other process has the file.
func seal(f *os.File) error {
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	return retrySeal(f.Name(), func() error {
		_, err := unix.FcntlInt(uintptr(FD(f)), unix.F_ADD_SEALS, seals)
		return err
	})
}

// retrySeal calls add until it no longer returns EBUSY, or sealTimeout is over.
func retrySeal(name string, add func() error) error {
	for deadline := Monotonic() + sealTimeout; ; time.Sleep(10 * time.Millisecond) {
		err := add()
		if errors.Is(err, unix.EBUSY) && Monotonic() < deadline {
			continue
		}
		if err != nil {
			return fmt.Errorf("seal memfd %s: %w", name, err)
		}
		return nil
	}
}
