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

// stillNamed is ErrLocked if another process has replaced the file since it was opened: what is appended to it
// would be lost.
func (o *Output) stillNamed(name string) error {
	opened, err := o.f.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Lstat(name); err != nil || !os.SameFile(opened, named) {
		return ErrLocked
	}
	return nil
}
