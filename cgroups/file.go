package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openDir opens a group's directory.
func openDir(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openIn opens a kernel file of a group. os.Open would register it with Go's network
// poller, which every event of the group would then wake.
func openIn(dir *os.File, name string, flags int) (*os.File, error) {
	fd, err := unix.Openat2(int(dir.Fd()), name, &unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	path := dir.Name() + "/" + name
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openMaybe is openIn for files that not every kernel has: nil when absent.
func openMaybe(dir *os.File, name string, flags int) (*os.File, error) {
	f, err := openIn(dir, name, flags)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// pread reads a whole kernel file in one call. os.File.ReadAt would make a second
// call to see the end, and the kernel would format the file again for it.
func pread(f *os.File, buf []byte) ([]byte, error) {
	for {
		n, err := unix.Pread(int(f.Fd()), buf, 0)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", f.Name(), err)
		case n == len(buf):
			return nil, fmt.Errorf("read %s: longer than %d bytes", f.Name(), n)
		}
		return buf[:n], nil
	}
}

// put writes a kernel file. Its error contains the value.
func put(f *os.File, value string) error {
	for {
		_, err := unix.Pwrite(int(f.Fd()), []byte(value), 0)
		switch err {
		case nil:
			return nil
		case unix.EINTR:
			continue
		}
		return fmt.Errorf("write %q to %s: %w", value, f.Name(), err)
	}
}

// putPath writes a kernel file by path. It is not for the hot path.
func putPath(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(value); err != nil {
		err = fmt.Errorf("write %q: %w", value, err)
	}
	return errors.Join(err, f.Close())
}

func readInt(f *os.File) (int64, error) {
	var buf [64]byte
	b, err := pread(f, buf[:])
	if err != nil {
		return 0, err
	}
	n, err := parseInt(b)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return n, nil
}

func readKey(f *os.File, key string) (int64, error) {
	var buf [512]byte
	b, err := pread(f, buf[:])
	if err != nil {
		return 0, err
	}
	n, err := flatKey(b, key)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return n, nil
}
