package batch

import (
	"errors"
	"os"

	"github.com/brig-sandbox/brig/internal/flock"
)

// ErrLocked is the error of a file of results that another process writes.
var ErrLocked = errors.New("another process writes results to the file")

// lock takes the lock of the file. The kernel releases it when the process ends.
func (o *Output) lock() error {
	err := flock.Try(o.f)
	if errors.Is(err, flock.ErrHeld) {
		return ErrLocked
	}
	return err
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
