package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openInput opens a file that the user named: a regular file, or a pipe of the shell's, as
// <(COMMAND) is. Anything else is refused before it is read, for it may have no end, and
// opening alone can do something: a link to a device, or a FIFO that nobody writes to, can
// lie among files of strangers (testdata/script/input.txtar).
func openInput(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = readable(path, info.Mode())
	}
	if err != nil {
		return nil, nil, named(err)
	}
	// It may be another file by now, so the descriptor is asked again, and opening does not block.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, named(err)
	}
	info, err = checked(f, path)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// checked is what f is, which was opened as path, if it may be read.
func checked(f *os.File, path string) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, named(err)
	}
	if err := readable(path, info.Mode()); err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeNamedPipe == 0 {
		return info, nil
	}
	// A pipe of pipe(2) lies on a file system of the kernel's own, a FIFO on another.
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return nil, os.NewSyscallError("fstatfs", err)
	}
	if st.Type != unix.PIPEFS_MAGIC {
		return nil, fmt.Errorf("%s is a FIFO: name a regular file, or read it as standard input: - < %[1]s", path)
	}
	return info, nil
}

// readable refuses what has no end of its own.
func readable(path string, mode fs.FileMode) error {
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
		what = "no regular file"
	}
	return fmt.Errorf("%s is %s: name a regular file", path, what)
}

// oversize is the error of a file that has more than is read of it.
type oversize struct {
	path string
	is   string // its size, for people
	most int64
}

func (e *oversize) Error() string {
	return fmt.Sprintf("%s is %s: %s is the most that is read", e.path, e.is, roundSize(e.most))
}

// readInput reads a file that the user named, of at most so many bytes: *oversize is the
// error of one that has more.
func readInput(path string, most int64) ([]byte, error) {
	f, info, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, info, path, most)
}

// readBelow is readInput of a file that lies in a directory. A link is followed to what
// lies there too and no further, so that a stranger's link does not choose which of the
// user's files are read. Pipes are no files of a directory.
func readBelow(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		if info, bad := root.Lstat(name); bad == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a link that leads out of the directory, or to nothing: put the file itself there", name)
		}
		return nil, named(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, named(err)
	}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		return nil, fmt.Errorf("%s is a FIFO: leave it out", name)
	}
	if err := readable(name, info.Mode()); err != nil {
		return nil, err
	}
	return readAll(f, info, name, most)
}

// readAll reads the file f, or the pipe, to its end.
func readAll(f *os.File, info fs.FileInfo, path string, most int64) ([]byte, error) {
	if info.Mode().IsRegular() && info.Size() > most {
		return nil, &oversize{path, roundSize(info.Size()), most}
	}
	var text bytes.Buffer
	text.Grow(int(info.Size()) + bytes.MinRead)
	_, err := text.ReadFrom(io.LimitReader(f, most+1)) // it can grow, and a pipe has no size
	switch {
	case err != nil:
		return nil, named(err)
	case int64(text.Len()) > most:
		return nil, &oversize{path, "more than " + roundSize(most), most}
	}
	return text.Bytes(), nil
}
