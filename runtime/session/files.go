package session

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/paths"
	"github.com/brig-sandbox/brig/runtime/run"
)

// The files of a session are read and written while programs may change every name. So each step
// works on a handle. Names are looked up beneath /box, or /workspace, without following a link
// (OpenBeneath). What is changed is what was opened, never the name again. What is written is a new
// file without a name, which then takes the place of whatever had its name, as a whole, and is
// never written through it.

// PutFile puts content into /box, or into the volume, under a name, and replaces what may be there.
// It creates missing parent directories. In /box the content is limited by what is left of the
// scratch and charged to the agent, which has reserved that much memory; in a volume it is limited
// by what is left of the volume.
func (r *Registry) PutFile(id, name string, volume, executable bool, content io.Reader, c api.Caller) error {
	s, at, err := r.enterDirOf(id, name, volume, c)
	if err != nil {
		return err
	}
	defer s.leave()
	if err := s.putFile(at, name, executable, content); err != nil {
		return run.ToAPIError(r.log, s.sessionEndedError(err), id)
	}
	return nil
}

// PlaceInputs puts the inputs of an exec into /box.
func (s *session) PlaceInputs(files []api.File) error {
	for _, f := range files {
		if err := s.putFile(s.boxDir(), f.Name, f.Executable, bytes.NewReader(f.Content)); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) putFile(at sessionDir, name string, executable bool, content io.Reader) error {
	mode := uint32(0o644)
	if executable {
		mode = 0o755
	}

	writing, err := s.createUnnamed(at)
	if err != nil {
		return at.putError(name, err)
	}
	defer s.closeFile(writing)

	if _, err := io.CopyBuffer(struct{ io.Writer }{writing}, content, make([]byte, 128<<10)); err != nil {
		return at.putError(name, err)
	}

	// From here on nothing waits for a caller.
	release, err := s.holdHandles()
	if err != nil {
		return err
	}
	defer release()

	if at.root == s.scratch.Box {
		if err := s.chargeFile(name, writing); err != nil {
			return err
		}
	}

	dir, err := at.makeDirs(path.Dir(name))
	if err != nil {
		return at.putError(name, err)
	}
	defer dir.Close()

	file, err := s.reopenReadOnly(at, writing, mode)
	if err != nil {
		return at.putError(name, err)
	}
	defer file.Close()

	return at.putError(name, paths.Install(file, dir, path.Base(name)))
}

// createUnnamed makes a file that has no name.
func (s *session) createUnnamed(at sessionDir) (*os.File, error) {
	release, err := s.holdHandles()
	if err != nil {
		return nil, err
	}
	defer release()
	f, err := linux.OpenBeneath(at.root, ".", unix.O_TMPFILE|unix.O_WRONLY, 0o600)
	if err == nil {
		s.registerFile(f)
	}
	return f, err
}

// reopenReadOnly gives a new file its owner and mode, and exchanges its handle for one that is not open
// for writing: a file that is open for writing cannot be executed (ETXTBSY; FIO-13).
func (s *session) reopenReadOnly(at sessionDir, writing *os.File, mode uint32) (*os.File, error) {
	if err := errors.Join(unix.Fchown(linux.FD(writing), at.uid, at.gid),
		unix.Fchmod(linux.FD(writing), mode)); err != nil {
		return nil, err
	}

	s.unregisterFiles(writing)
	return paths.Detached(writing)
}

// makeDirs returns the directory of a name below the root and makes missing parts of it. The
// program may exchange any of them meanwhile. Then the rest is made in what it put there, which is
// in the same file system, or is refused.
func (at sessionDir) makeDirs(name string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK
	dir, err := linux.OpenBeneath(at.root, name, flags, 0)
	if !errors.Is(err, unix.ENOENT) {
		return dir, err
	}

	parent, err := at.makeDirs(path.Dir(name))
	if err != nil {
		return nil, err
	}
	defer parent.Close()

	base := path.Base(name)
	if err := unix.Mkdirat(linux.FD(parent), base, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, &os.PathError{Op: "mkdirat", Path: name, Err: err}
	}
	if dir, err = linux.OpenBeneath(parent, base, flags, 0); err != nil {
		return nil, err
	}
	if err := errors.Join(unix.Fchown(linux.FD(dir), at.uid, at.gid), unix.Fchmod(linux.FD(dir), 0o755)); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// putError explains the causes that prevent a file from being written. All other errors are the
// agent's.
func (at sessionDir) putError(name string, err error) error {
	bad := func(why string) error { return api.Refuse(api.CodeBadFile, "file %q: %s", name, why) }
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EFBIG):
		return api.Refuse(api.CodeTooLarge, "file %q does not fit into the rest of the %s", name, at.fullHint)
	case errors.Is(err, unix.EISDIR), errors.Is(err, unix.EEXIST):
		return bad("there is a directory of that name")
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return bad("a part of its path is not a directory")
	case errors.Is(err, unix.ENOENT):
		return bad("a directory on its path was removed meanwhile")
	case errors.Is(err, unix.EXDEV):
		return bad("its path leads out of " + at.name)
	case errors.Is(err, unix.EROFS):
		return bad("the volume is read-only in this session, or became read-only after a disk error")
	}

	return err
}
