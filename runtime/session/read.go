package session

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/run"
)

// OpenFile opens a regular file of /box, or of the volume, for reading. The reader returns as many
// bytes as the file had when it was opened, or fewer if the program truncates it, and must be
// closed. It fails when the session ends.
func (r *Registry) OpenFile(id, name string, volume bool, c api.Caller) (io.ReadCloser, error) {
	s, at, err := r.enterDirOf(id, name, volume, c)
	if err != nil {
		return nil, err
	}
	file, size, err := s.openRegular(at, name)
	if err != nil {
		s.leave()
		return nil, run.ToAPIError(r.log, s.sessionEndedError(err), id)
	}
	return &fileReader{session: s, file: file, left: size}, nil
}

// openRegular opens a file for reading, whatever has its name. O_NONBLOCK keeps a FIFO from
// blocking the agent, and also a file lease (fcntl), which the program may take on its own files
// (FIO-04).
func (s *session) openRegular(at sessionDir, name string) (*os.File, int64, error) {
	release, err := s.holdHandles()
	if err != nil {
		return nil, 0, err
	}
	defer release()

	refused := func(why string) error {
		return api.Refuse(api.CodeBadFile, "file %q cannot be read: %s", name, why)
	}
	file, err := linux.OpenBeneath(at.root, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return nil, 0, api.Refuse(api.CodeNotFound, "there is no file %q in the session", name)
	case errors.Is(err, unix.EAGAIN):
		return nil, 0, refused("the program has a lease on it")
	case err != nil:
		return nil, 0, refused(cell.LookupReason(err))
	}

	var st unix.Stat_t
	err = unix.Fstat(linux.FD(file), &st)
	switch {
	case err != nil:
		err = os.NewSyscallError("fstat", err)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = refused(cell.FileKind(st.Mode))
	case st.Size > at.maxFile: // sparse: RLIMIT_FSIZE applies as well (FIO-05)
		err = refused("it is larger than the file system that contains it")
	}

	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}

	s.registerFile(file)
	return file, st.Size, nil
}

// A fileReader is a file that is being sent to a caller.
type fileReader struct {
	session *session
	file    *os.File
	left    int64
	closed  bool
}

func (r *fileReader) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.file.Read(b[:min(int64(len(b)), r.left)])
	r.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.session.sessionEndedError(err)
	}
	return n, err
}

func (r *fileReader) Close() error {
	if !r.closed {
		r.closed = true
		r.session.closeFile(r.file)
		r.session.leave()
	}
	return nil
}
