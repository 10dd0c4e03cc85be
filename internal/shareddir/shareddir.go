// Package shareddir makes the directories of the host that processes of several users pass through:
// root makes them, and the half of a command that has given up root has its own directory below.
package shareddir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	shared  = 0o755 // every user passes through and reads
	private = 0o700
)

// Cache is root's directory for downloads. Make opens it for other users if an earlier brig made it for
// root alone. It changes no other existing directory: an operator may have narrowed it on purpose.
const Cache = "/var/cache/brig"

// Make makes a directory that every user can pass through, whatever the umask, and its missing
// parents. A process without root has no other user's half: it makes them for itself alone.
func Make(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return os.MkdirAll(dir, private)
	}
	if dir != "/" {
		if err := Make(filepath.Dir(dir)); err != nil {
			return err
		}
	}

	if err := makeOne(dir, shared); err != nil {
		return err
	}

	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); dir == Cache && mode&0o055 != 0o055 {
		return os.Chmod(dir, mode|0o055)
	}
	return nil
}

// MakePrivate makes a directory for the calling user alone, and its missing parents as Make does. It
// leaves an existing directory as it is.
func MakePrivate(dir string) error {
	if err := Make(filepath.Dir(dir)); err != nil {
		return err
	}
	return makeOne(dir, private)
}

// makeOne makes one directory with exactly this mode. It is no error if the directory exists.
func makeOne(dir string, mode fs.FileMode) error {
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrExist) { // another process can have made it meanwhile
		if info, serr := os.Stat(dir); serr != nil || info.IsDir() {
			return serr
		}
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, mode)
}

// Impassable returns the first directory on the way from / to dir, dir included, that other users
// cannot pass through; empty if they reach dir. It judges by the modes, not by access lists.
func Impassable(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", err
	}
	if dir != "/" {
		if at, err := Impassable(filepath.Dir(dir)); at != "" || err != nil {
			return at, err
		}
	}

	info, err := os.Stat(dir)
	if err != nil || info.Mode()&0o001 != 0 {
		return "", err
	}
	return dir, nil
}

// CheckPassable returns an error if a process of uid cannot reach dir, which what is for. The error
// names the directory in its way and the cure.
func CheckPassable(dir, what string, uid int) error {
	at, err := Impassable(dir)
	if at == "" || err != nil {
		return err
	}
	return fmt.Errorf("%s is in %s, which uid %d has to reach: other users cannot pass through %s: chmod o+x %s, or "+
		"name another directory", what, dir, uid, at, at)
}
