package batch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrLocked is the error of a file of results that another process writes.
var ErrLocked = errors.New("another process writes results to the file")

// lock takes the lock of the file. The kernel releases it when the process ends.
func (o *Output) lock() error {
	err := unix.Flock(int(o.f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return os.NewSyscallError("flock", err)
}
