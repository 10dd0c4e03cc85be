// Package hostfiles opens files of the host below a folder that the operator named, and no others.
package hostfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/lookup"
)

// A Folder is a directory below which callers name files by their absolute paths.
type Folder struct {
	path string // as callers write it
	root *os.File
}

// New opens a folder, with the rights that the process has now.
func New(path string) (*Folder, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%q is not an absolute path: callers name files by their absolute paths", path)
	}
	clean := filepath.Clean(path)
	root, err := os.OpenFile(clean, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &Folder{path: clean, root: root}, nil
}

// Close closes the folder. A nil folder has nothing to close.
func (f *Folder) Close() error {
	if f == nil {
		return nil
	}
	return f.root.Close()
}

// Open opens a regular file of at most that size, by its absolute path, and returns how large it is. Links and .. lead
// to files below the folder, and nowhere else: the kernel looks the name up from the folder, so that nobody can change
// a directory between a check and the use (TestHostileHostFiles). A FIFO or a device is not opened at all.
func (f *Folder) Open(path string, most api.Size) (*os.File, int64, error) {
	below, is := strings.CutPrefix(path, strings.TrimSuffix(f.path, "/")+"/")
	if !is || strings.ContainsRune(path, 0) {
		return nil, 0, api.Refuse(api.CodeBadFile,
			"%.200q is not below %s, the only folder of the host whose files may be named here", path, f.path)
	}

	below = strings.TrimLeft(below, "/") // as in an absolute path of the host
	found, err := lookup.Openat2(int(f.root.Fd()), below, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return nil, 0, f.refuse(path, err)
	}
	named := os.NewFile(uintptr(found), path)
	defer named.Close()

	info, err := named.Stat()
	switch {
	case err != nil:
		return nil, 0, f.refuse(path, err)
	case !info.Mode().IsRegular():
		return nil, 0, api.Refuse(api.CodeBadFile, "%.200q is %s: only regular files can be read", path, kindOf(info.Mode()))
	case info.Size() > int64(most):
		return nil, 0, api.Refuse(api.CodeTooLarge, "%.200q has %s: the maximum is %s; have the operator raise --max-blob, "+
			"or blobs of the key", path, api.Size(info.Size()), most)
	}

	file, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", found), os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, f.refuse(path, err)
	}
	return file, info.Size(), nil
}

// refuse is the error for a path that the kernel does not open.
func (f *Folder) refuse(path string, err error) error {
	var why unix.Errno
	switch {
	case errors.Is(err, unix.EAGAIN):
		return api.Refuse(api.CodeBusy, "%.200q cannot be found while so much is renamed on the host: try again", path)
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.ELOOP):
		return api.Refuse(api.CodeBadFile, "%.200q leads out of %s: only files below it can be read", path, f.path)
	case errors.Is(err, fs.ErrNotExist):
		return api.Refuse(api.CodeBadFile, "%.200q does not exist on the host of the service", path)
	case errors.Is(err, fs.ErrPermission):
		return api.Refuse(api.CodeBadFile, "the service may not read %.200q: have the operator let uid %d read it", path,
			os.Geteuid())
	case errors.As(err, &why):
		return api.Refuse(api.CodeBadFile, "%.200q cannot be read: %s", path, why)
	}
	return fmt.Errorf("open a file of the host: %w", err)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}
