// Package inputfile reads files that a user named, and files of strangers below a directory that a
// user named. It never opens what may have no end, and follows no link out of the directory.
package inputfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// Open opens a file that the user named: a regular file, or a pipe of the shell, such as
// <(COMMAND). It refuses anything else before reading, since that may have no end. It also checks
// before opening, which alone can have an effect: among files of strangers there can be a link to
// a device, or a FIFO without a writer (testdata/script/input.txtar).
func Open(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = checkReadable(path, info.Mode())
	}
	if err != nil {
		return nil, nil, WithoutSyscall(err)
	}

	// It may be another file by now: open without blocking, and check the descriptor again.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, WithoutSyscall(err)
	}

	info, err = checkOpened(f, path)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// checkOpened returns the file info of f, which was opened as path, or an error if f must not be read.
func checkOpened(f *os.File, path string) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, WithoutSyscall(err)
	}
	if err := checkReadable(path, info.Mode()); err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeNamedPipe == 0 {
		return info, nil
	}

	// A pipe made by pipe(2) is on a file system inside the kernel, a FIFO on another one.
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return nil, os.NewSyscallError("fstatfs", err)
	}
	if st.Type != unix.PIPEFS_MAGIC {
		return nil, fmt.Errorf("%s is a FIFO: name a regular file, or read it as standard input: - < %[1]s", path)
	}
	return info, nil
}

// checkReadable refuses a file that may have no end.
func checkReadable(path string, mode fs.FileMode) error {
	what := ""
	switch {
	case mode.IsDir():
		return fmt.Errorf("%s is a directory: name a file", path)
	case mode&fs.ModeDevice != 0:
		what = "a device"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode.IsRegular(), mode&fs.ModeNamedPipe != 0:
		return nil
	default:
		what = "not a regular file"
	}

	return fmt.Errorf("%s is %s: name a regular file", path, what)
}

// TooLargeError is the error of a file that is larger than the limit for reading it.
type TooLargeError struct {
	Path  string
	Size  string // its size, for people
	Limit int64  // the maximum, in bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is %s: the maximum is %s", e.Path, e.Size, api.Size(e.Limit).About())
}

// Read reads a file that the user named. The error is an *TooLargeError if it has more than
// maximum bytes.
func Read(path string, maximum int64) ([]byte, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, info, path, maximum)
}

// ReadBelow is Read for a file in a directory. It follows links only within the directory, so
// that a stranger's link does not choose which of the user's files are read. It refuses FIFOs.
func ReadBelow(root *os.Root, name string, maximum int64) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		if info, bad := root.Lstat(name); bad == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a link that leads out of the directory, or to a missing file: put the file itself there", name)
		}
		return nil, WithoutSyscall(err)
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return nil, WithoutSyscall(err)
	}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		return nil, fmt.Errorf("%s is a FIFO: leave it out", name)
	}
	if err := checkReadable(name, info.Mode()); err != nil {
		return nil, err
	}
	return readAll(f, info, name, maximum)
}

// readAll reads the file f, or the pipe, to its end.
func readAll(f *os.File, info fs.FileInfo, path string, maximum int64) ([]byte, error) {
	if info.Mode().IsRegular() && info.Size() > maximum {
		return nil, &TooLargeError{path, api.Size(info.Size()).About(), maximum}
	}

	var text bytes.Buffer
	text.Grow(int(info.Size()) + bytes.MinRead)
	_, err := text.ReadFrom(io.LimitReader(f, maximum+1)) // it can grow, and a pipe has no size
	switch {
	case err != nil:
		return nil, WithoutSyscall(err)
	case int64(text.Len()) > maximum:
		return nil, &TooLargeError{path, "more than " + api.Size(maximum).About(), maximum}
	}

	return text.Bytes(), nil
}

// WithoutSyscall removes the name of the system call from err: the path is enough for the user who
// named the file.
func WithoutSyscall(err error) error {
	if e := new(fs.PathError); errors.As(err, &e) {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}
