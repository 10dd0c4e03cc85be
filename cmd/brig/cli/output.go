package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/inputfile"
)

// WriteOutput writes content to a file that the user named, opened by OpenOutput.
func WriteOutput(path string, content []byte) error {
	f, err := OpenOutput(path)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// OpenOutput opens a file that the user named, and truncates it. It must be a new file, or a
// regular file with no other name. It refuses a symbolic or hard link: a stranger may have made
// the link, and it leads to a file that the user did not name (FIO-20,
// ../testdata/script/target.txtar). It does not replace the file by a new one, which would lose the
// owner and mode, and would fail for a file that is a mount point.
func OpenOutput(path string) (*os.File, error) {
	if clean := filepath.Clean(path); OwnDescriptor(clean) {
		return os.OpenFile(clean, os.O_WRONLY|os.O_TRUNC, 0)
	}

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0o644)
	if err != nil {
		if info, bad := os.Lstat(path); bad == nil {
			if why := CheckWritable(path, info); why != nil {
				return nil, why
			}
		}
		return nil, inputfile.WithoutSyscall(err)
	}

	info, err := f.Stat()
	if err == nil {
		err = CheckWritable(path, info)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(inputfile.WithoutSyscall(err), f.Close())
	}
	return f, nil
}

// CheckWritable refuses everything but a regular file with a single name.
func CheckWritable(path string, info fs.FileInfo) error {
	what := ""
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		what = "a symbolic link: remove it, or name another file"
	case mode.IsDir():
		what = "a directory: name a file"
	case mode&fs.ModeNamedPipe != 0:
		what = "a FIFO: name a regular file, or >(COMMAND) in bash"
	case !mode.IsRegular():
		what = "not a regular file: name another"
	case info.Sys().(*syscall.Stat_t).Nlink > 1:
		return fmt.Errorf("%s has several hard links: remove it, or name another file", path)
	default:
		return nil
	}

	return fmt.Errorf("%s is %s", path, what)
}

// OwnDescriptor reports whether a path names an open descriptor of this process, as the shell's
// >(COMMAND) does. The kernel makes such a name as a link.
func OwnDescriptor(clean string) bool {
	return slices.Contains([]string{os.DevNull, "/dev/stdout", "/dev/stderr"}, clean) ||
		slices.Contains([]string{"/dev/fd", "/proc/self/fd"}, filepath.Dir(clean))
}
