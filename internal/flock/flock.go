// Package flock locks open files against other processes, with flock(2). A lock belongs to what one call of open
// returned, and to its copies in other processes: the kernel releases it when the last of them is closed, at the
// latest when these processes have ended, unless the kernel itself keeps the file open, as a loop device does. So
// there is no function that unlocks. A process that opens a file twice locks itself out.
package flock

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld is in the error of Try and TryShared if somebody else has a lock that excludes the one that is asked for.
var ErrHeld error = unix.EWOULDBLOCK

// Lock waits until nobody else has a lock of f, and takes it. Nothing interrupts it: where another process may keep
// the lock for long, use Wait.
func Lock(f *os.File) error { return flock(f, unix.LOCK_EX) }

// Try is Lock without waiting: the error is ErrHeld if somebody else has a lock of f.
func Try(f *os.File) error { return flock(f, unix.LOCK_EX|unix.LOCK_NB) }

// TryShared takes a lock of f that others may share, without waiting: the error is ErrHeld if somebody else has one
// that is not shared.
func TryShared(f *os.File) error { return flock(f, unix.LOCK_SH|unix.LOCK_NB) }

// Wait is Lock until ctx ends, whose cause is then the error. It tries at once, and after each pause: flock(2) has no
// time limit.
func Wait(ctx context.Context, f *os.File, pause time.Duration) error {
	for {
		if err := Try(f); !errors.Is(err, ErrHeld) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// flock repeats the call when a signal interrupts it. Its errors name the file.
func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var errno error = unix.EINTR
	err = conn.Control(func(fd uintptr) {
		for errno == unix.EINTR {
			errno = unix.Flock(int(fd), how)
		}
	})
	if err = cmp.Or(err, errno); err != nil {
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}
