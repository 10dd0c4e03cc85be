package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// writeOutput writes a file that the user named, as openOutput opens it.
func writeOutput(path string, content []byte) error {
	f, err := openOutput(path)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// openOutput opens a file that the user named to be written anew: one that is not there, or a
// regular file of this one name. A link that lies in its place is refused, symbolic or hard:
// a stranger may have made it, and what it leads to is not what the user named (FIO-20,
// testdata/script/target.txtar). The file is not replaced by another, which would lose
// its owner and mode, and fails for a file that is mounted.
func openOutput(path string) (*os.File, error) {
	if clean := filepath.Clean(path); ownDescriptor(clean) {
		return os.OpenFile(clean, os.O_WRONLY|os.O_TRUNC, 0)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0o644)
	if err != nil {
		if info, bad := os.Lstat(path); bad == nil {
			if why := writable(path, info); why != nil {
				return nil, why
			}
		}
		return nil, named(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = writable(path, info)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(named(err), f.Close())
	}
	return f, nil
}

// writable refuses what is no regular file of one name.
func writable(path string, info fs.FileInfo) error {
	what := ""
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		what = "a symbolic link: remove it, or name another file"
	case mode.IsDir():
		what = "a directory: name a file"
	case mode&fs.ModeNamedPipe != 0:
		what = "a FIFO: name a regular file, or >(COMMAND) in bash"
	case !mode.IsRegular():
		what = "no regular file: name another"
	case info.Sys().(*syscall.Stat_t).Nlink > 1:
		return fmt.Errorf("%s has another name as well, by a hard link: remove it, or name another file", path)
	default:
		return nil
	}
	return fmt.Errorf("%s is %s", path, what)
}

// ownDescriptor reports whether a path is of something that this process has open, as the
// shell's >(COMMAND) is. Such a name is a link of the kernel's.
func ownDescriptor(clean string) bool {
	return slices.Contains([]string{os.DevNull, "/dev/stdout", "/dev/stderr"}, clean) ||
		slices.Contains([]string{"/dev/fd", "/proc/self/fd"}, filepath.Dir(clean))
}
