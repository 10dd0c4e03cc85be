package runtime

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// sealedMemfd puts content in a file without a name that nobody can change,
// whoever gets a handle of it (CVE-2019-5736; FS-08). memfd_create since Linux
// 3.17, MFD_EXEC and its absence mean the same while vm.memfd_noexec is 0 or 1.
func sealedMemfd(name string, content []byte, exec bool) (*os.File, error) {
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
	_, err = f.Write(content)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
			unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// fd gives the number behind f for one system call. The caller keeps f alive.
func fd(f *os.File) int {
	conn, err := f.SyscallConn()
	if err != nil {
		return -1
	}
	n := -1
	if err := conn.Control(func(fd uintptr) { n = int(fd) }); err != nil {
		return -1
	}
	return n
}
