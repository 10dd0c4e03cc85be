package runtime

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// The files of a session are read and written beside programs that may change every
// name under our hands. So each step works on a handle: names are looked up beneath
// /box, or /workspace, without following a link (openBeneath); what is to be changed is what was
// opened, never the name again; and what is written is a new file without a name,
// which appears whole in the place of whatever had its name, and never goes through
// that.

// PutFile puts content into /box, or into the volume, under a name, in the place of what
// may be there; the directories on its way are made. It is bounded by what is left of the
// scratch and charged to us, who have promised so much, or by what is left of the volume.
func (h *Host) PutFile(id, name string, volume, executable bool, content io.Reader, c Caller) error {
	s, at, err := h.enterFile(id, name, volume, c)
	if err != nil {
		return err
	}
	defer s.leave()
	if err := s.put(at, name, executable, content); err != nil {
		return h.told(s.excuse(err), id)
	}
	return nil
}

// furnish puts the inputs of an exec into /box.
func (s *session) furnish(files []api.File) error {
	for _, f := range files {
		if err := s.put(s.box(), f.Name, f.Executable, bytes.NewReader(f.Content)); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) put(at site, name string, executable bool, content io.Reader) error {
	mode := uint32(0o644)
	if executable {
		mode = 0o755
	}
	writing, err := s.openNew(at)
	if err != nil {
		return at.putError(name, err)
	}
	defer s.forget(writing)
	if _, err := io.CopyBuffer(struct{ io.Writer }{writing}, content, make([]byte, 128<<10)); err != nil {
		return at.putError(name, err)
	}

	// From here on nothing waits for anybody.
	release, err := s.hold()
	if err != nil {
		return err
	}
	defer release()
	if at.root == s.scratch.box {
		if err := s.count(name, writing); err != nil {
			return err
		}
	}
	dir, err := at.makeDirs(path.Dir(name))
	if err != nil {
		return at.putError(name, err)
	}
	defer dir.Close()
	file, err := s.written(at, writing, mode)
	if err != nil {
		return at.putError(name, err)
	}
	defer file.Close()
	return at.putError(name, install(file, dir, path.Base(name)))
}

// openNew makes a file that has no name.
func (s *session) openNew(at site) (*os.File, error) {
	release, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer release()
	f, err := openBeneath(at.root, ".", unix.O_TMPFILE|unix.O_WRONLY, 0o600)
	if err == nil {
		s.keep(f)
	}
	return f, err
}

// written gives a new file its owner and mode, and exchanges its handle for one that
// is not for writing: nobody can execute a file that is open for that (ETXTBSY;
// FIO-13).
func (s *session) written(at site, writing *os.File, mode uint32) (*os.File, error) {
	if err := errors.Join(unix.Fchown(fd(writing), at.uid, at.gid), unix.Fchmod(fd(writing), mode)); err != nil {
		return nil, err
	}
	n, err := unix.Open(procFD(writing), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	s.forget(writing)
	// A cell being started elsewhere has forked, perhaps with the handle that is closed
	// now; when we get this lock, such a child has executed something else.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.NewFile(uintptr(n), "new"), nil
}

// makeDirs returns the directory of a name below the root, making what is missing of it.
// The program may exchange any of them as we go: then we make the rest in what it put
// there, which is in the same file system, or are refused.
func (at site) makeDirs(name string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK
	dir, err := openBeneath(at.root, name, flags, 0)
	if !errors.Is(err, unix.ENOENT) {
		return dir, err
	}
	parent, err := at.makeDirs(path.Dir(name))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	base := path.Base(name)
	if err := unix.Mkdirat(fd(parent), base, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, &os.PathError{Op: "mkdirat", Path: name, Err: err}
	}
	if dir, err = openBeneath(parent, base, flags, 0); err != nil {
		return nil, err
	}
	if err := errors.Join(unix.Fchown(fd(dir), at.uid, at.gid), unix.Fchmod(fd(dir), 0o755)); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// installTries bounds how often a program may take away the name we gave a file
// before it has its own.
const installTries = 10

// install gives a file without a name one in dir, instead of what has it. Link does
// not replace: so the file gets another name first and is moved. A rename takes the
// place of a link and does not follow it.
func install(file, dir *os.File, base string) error {
	err := unix.Linkat(unix.AT_FDCWD, procFD(file), fd(dir), base, unix.AT_SYMLINK_FOLLOW)
	if !errors.Is(err, unix.EEXIST) {
		return os.NewSyscallError("linkat", err)
	}
	for range installTries {
		other := ".brig-" + runID()
		if err := unix.Linkat(unix.AT_FDCWD, procFD(file), fd(dir), other, unix.AT_SYMLINK_FOLLOW); err != nil {
			return os.NewSyscallError("linkat", err)
		}
		err = unix.Renameat(fd(dir), other, fd(dir), base)
		if err == nil {
			return nil
		}
		if rerr := unix.Unlinkat(fd(dir), other, 0); rerr != nil && !errors.Is(rerr, unix.ENOENT) {
			return os.NewSyscallError("unlinkat", rerr)
		}
		if !errors.Is(err, unix.ENOENT) {
			break
		}
	}
	return os.NewSyscallError("renameat", err)
}

// putError puts what stands in the way of a file in words. Everything else than these
// is a failure of ours.
func (at site) putError(name string, err error) error {
	bad := func(why string) error { return api.Refuse(api.CodeBadFile, "file %q: %s", name, why) }
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EFBIG):
		return api.Refuse(api.CodeTooLarge, "file %q does not fit into what is left of the %s", name, at.room)
	case errors.Is(err, unix.EISDIR), errors.Is(err, unix.EEXIST):
		return bad("there is a directory of that name")
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return bad("a part of its path is no directory")
	case errors.Is(err, unix.ENOENT):
		return bad("a directory on its path was removed meanwhile")
	case errors.Is(err, unix.EXDEV):
		return bad("its path leads out of " + at.name)
	case errors.Is(err, unix.EROFS):
		return bad("the session has its volume to read only, or an error of the disk has made it so")
	}
	return err
}
