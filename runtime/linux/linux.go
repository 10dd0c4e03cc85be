// Package linux has the small helpers around system calls that every package of the runtime needs.
package linux

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/flock"
)

// FD returns the descriptor number of f for one system call. The caller must keep f alive.
func FD(f *os.File) int {
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

// IgnoringEINTR repeats a system call that a signal interrupted.
func IgnoringEINTR(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// LockFile opens path and takes its lock, without waiting.
func LockFile(path string, create bool) (*os.File, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE | os.O_EXCL
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock.Try(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
