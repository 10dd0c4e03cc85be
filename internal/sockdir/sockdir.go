// Package sockdir removes the directory of a private agent's socket. The directory is in a
// place where every user may create one, so it may belong to another user, while the
// process that removes it is root.
package sockdir

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Remove removes a socket and the directory that was made for it alone. It follows no link:
// if something has replaced the directory in the meantime, no other socket is removed.
func Remove(socket string) error {
	home := filepath.Dir(socket)
	failed := func(err error) error { return &fs.PathError{Op: "remove", Path: home, Err: err} }
	parent, err := unix.Open(filepath.Dir(home), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed(err)
	}
	defer unix.Close(parent)

	dir, err := unix.Openat(parent, filepath.Base(home), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed(err)
	}
	defer unix.Close(dir)

	if err := unix.Unlinkat(dir, filepath.Base(socket), 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return failed(err)
	}
	if err := unix.Unlinkat(parent, filepath.Base(home), unix.AT_REMOVEDIR); err != nil {
		return failed(err)
	}
	return nil
}
