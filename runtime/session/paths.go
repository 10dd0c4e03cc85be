package session

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/paths"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/run"
)

// The files of a session by their absolute paths: as its programs see them, with the rights of these
// programs (package paths; adr/0059).

// Bounds of the operations on paths that run at once: each has a thread, and a walk takes a processor. MaxPathWork is
// that of all sessions.
const (
	MaxPathWork           = 8
	maxWaitingPathWork    = 512
	maxSessionPathWork    = 4 // of one session
	maxSessionPathWaiting = 64
)

// onPath does one operation on the files of a session. Operations that can be long end with the context,
// and with the session. While f runs the session's handles stay open.
func (r *Registry) onPath(ctx context.Context, id string, c api.Caller, f func(context.Context, *paths.Tree) error) error {
	s, err := r.find(id, c)
	if err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.over, cancel)()

	own, err := s.pathWork.acquire(ctx)
	if err != nil {
		return s.sessionEndedError(err)
	}
	defer own()
	release, err := r.pathWork.acquire(ctx)
	if err != nil {
		return s.sessionEndedError(err)
	}
	defer release()
	return s.pathError(ctx, s.withTree(func(t *paths.Tree) error { return f(ctx, t) }))
}

// withTree calls f with the tree of the session, and keeps its handles open meanwhile.
func (s *session) withTree(f func(*paths.Tree) error) error {
	release, err := s.holdHandles()
	if err != nil {
		return err
	}
	defer release()

	root, err := s.cellRoot()
	if err != nil {
		return err
	}
	return f(&paths.Tree{Root: root, Base: plan.SlotIDs(s.cell.Slot), UID: plan.UID, GID: plan.GID,
		Owns: s.plan.Cell.Key.OwnsImage})
}

// cellRoot returns the root of the session's mount namespace. It is opened when it is first needed.
func (s *session) cellRoot() (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == nil {
		root, err := cell.OpenRoot(s.pidfd)
		if err != nil {
			return nil, err
		}
		s.root = root
	}
	return s.root, nil
}

// pathError returns the error that the caller gets.
func (s *session) pathError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = api.Fail(api.CodeBusy, "canceled while the files were worked on: what was done stays so")
	}
	return run.ToAPIError(s.registry.log, s.sessionEndedError(err), s.id)
}

// PathStatus describes what has a path in a session; of a link, with follow, what it leads to.
func (r *Registry) PathStatus(ctx context.Context, id, path string, follow bool, c api.Caller) (st api.PathStatus, err error) {
	err = r.onPath(ctx, id, c, func(_ context.Context, t *paths.Tree) error {
		st, err = t.Status(path, follow)
		return err
	})
	return st, err
}

// pathListRetention is the most that the agent retains for one list while it is made: names of the
// directories on the way down, the list, and its JSON.
const pathListRetention = int64(16 * api.MiB)

// ListPath lists what is below a directory. Lists wait for each other like those of ListFiles. hold is
// called before memory is used, like api.Memory.Keep.
func (r *Registry) ListPath(ctx context.Context, id, path string, l api.PathListing, hold func(bytes int64) error,
	c api.Caller) (list api.PathList, err error) {
	l.Depth, l.Limit = cmp.Or(l.Depth, 1), cmp.Or(l.Limit, api.PathListDefault)
	s, err := r.find(id, c)
	if err != nil {
		return list, err
	}
	end, err := r.beginList(ctx, s)
	if err != nil {
		return list, err
	}
	defer end()

	if err := hold(pathListRetention); err != nil {
		return list, err
	}
	err = r.onPath(ctx, id, c, func(ctx context.Context, t *paths.Tree) error {
		list, err = t.List(ctx, path, l)
		return err
	})
	if err != nil {
		return api.PathList{}, err
	}

	const entry = 768 // of a PathStatus, in a slice that has grown, and the JSON apart from path and target
	held := int64(entry * (len(list.Entries) + len(list.Skipped)))
	for _, e := range list.Entries {
		held += int64(3*len(e.Path) + 3*len(e.Bytes) + 3*len(e.Target))
	}
	return list, hold(held - pathListRetention)
}

// OpenPath opens a regular file for reading: length bytes from offset on, or if offset is negative, so many
// from the end; a negative length is all that follows. The reader must be closed.
func (r *Registry) OpenPath(ctx context.Context, id, path string, offset, length int64,
	c api.Caller) (content api.PathContent, err error) {
	err = r.onPath(ctx, id, c, func(_ context.Context, t *paths.Tree) error {
		content, err = r.openPath(id, t, path, offset, length, c)
		return err
	})
	return content, err
}

func (r *Registry) openPath(id string, t *paths.Tree, path string, offset, length int64,
	c api.Caller) (api.PathContent, error) {
	s, err := r.find(id, c)
	if err != nil {
		return api.PathContent{}, err
	}
	if err := s.enter(); err != nil { // until the reader is closed
		return api.PathContent{}, err
	}

	file, err := t.Open(path)
	if err == nil {
		first, count := part(file.Status.Size, offset, length)
		if err = readable(path, file, count); err == nil && first > 0 {
			_, err = unix.Seek(linux.FD(file.File), first, io.SeekStart)
		}
		if err == nil {
			s.registerFile(file.File)
			body := &fileReader{session: s, file: file.File, left: count}
			return api.PathContent{Status: file.Status, Offset: first, Length: count, Body: body}, nil
		}
		err = errors.Join(err, file.File.Close())
	}
	s.leave()
	return api.PathContent{}, err
}

// part returns which bytes of a file of a size are meant.
func part(size, offset, length int64) (first, count int64) {
	first = min(offset, size)
	if offset < 0 {
		first = max(size+offset, 0)
	}
	count = size - first
	if length >= 0 {
		count = min(count, length)
	}
	return first, count
}

// readable refuses to send more bytes than the file system has: a sparse file may claim 8 EiB (FIO-05).
func readable(path string, f paths.Content, count int64) error {
	if count <= f.Room {
		return nil
	}
	text, _ := api.PrintablePath(path)
	return api.Refuse(api.CodeFileConflict,
		"path %q claims %d bytes, more than the file system that contains it: it is sparse; read a part of it", text, count)
}

// PutPath writes a file: completely, or nothing changes. mode is that of the file; nil: as it was, or 0644.
// What is written to memory is charged to the session, as with PutFile.
func (r *Registry) PutPath(ctx context.Context, id, path string, mode *uint32, content io.Reader, c api.Caller) error {
	return r.writePath(ctx, id, path, mode, true, content, c)
}

func (r *Registry) writePath(ctx context.Context, id, path string, mode *uint32, replace bool, content io.Reader,
	c api.Caller) error {
	s, err := r.find(id, c)
	if err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return s.pathError(ctx, s.putPath(path, mode, replace, content))
}

func (s *session) putPath(path string, mode *uint32, replace bool, content io.Reader) error {
	var draft *paths.Draft
	err := s.withTree(func(t *paths.Tree) (err error) {
		if draft, err = t.Create(path, mode, replace); err == nil {
			s.registerFile(draft.File)
			s.registerFile(draft.Dir) // it keeps the volume mounted
		}
		return err
	})
	if err != nil {
		return err
	}

	_, err = io.CopyBuffer(struct{ io.Writer }{draft.File}, content, make([]byte, 128<<10))
	return s.finishPath(path, draft, paths.Error(path, err))
}

// finishPath gives a draft its name, or removes it if there was an error. Nothing of it waits for a caller.
func (s *session) finishPath(path string, draft *paths.Draft, err error) error {
	release, herr := s.holdHandles()
	if herr != nil { // the session has ended, and has closed what was open
		return herr
	}
	defer release()

	s.unregisterFiles(draft.File, draft.Dir)
	if err == nil {
		err = s.chargePath(path, draft.File)
	}
	if err == nil {
		err = draft.Detach()
	}
	if err != nil {
		return errors.Join(err, draft.Discard())
	}
	return draft.Place()
}

// chargePath charges a new file to the session's memory if its file system is memory. A volume is a disk.
func (s *session) chargePath(path string, file *os.File) error {
	if s.volume != nil {
		var st, at unix.Stat_t
		err := errors.Join(unix.Fstat(linux.FD(file), &st), unix.Fstat(linux.FD(s.volume.AgentMount), &at))
		if err != nil || st.Dev == at.Dev {
			return err
		}
	}
	return s.chargeFile(path, file)
}

// MakeDir makes a directory, and the missing ones on its path. It reports whether there was none.
func (r *Registry) MakeDir(ctx context.Context, id, path string, mode *uint32, c api.Caller) (made api.PathMade, err error) {
	err = r.onPath(ctx, id, c, func(_ context.Context, t *paths.Tree) error {
		made.Made, err = t.MakeDir(path, mode)
		return err
	})
	return made, err
}

// LinkPath makes a symbolic link.
func (r *Registry) LinkPath(ctx context.Context, id, path, target string, c api.Caller) error {
	return r.onPath(ctx, id, c, func(_ context.Context, t *paths.Tree) error { return t.Link(path, target) })
}

// RemovePath removes a file, a link, or a directory; with recursive also what is in it.
func (r *Registry) RemovePath(ctx context.Context, id, path string, recursive bool, c api.Caller) error {
	return r.onPath(ctx, id, c, func(ctx context.Context, t *paths.Tree) error { return t.Remove(ctx, path, recursive) })
}

// MovePath renames. A regular file that is to go to another file system is copied, and removed when the copy
// is complete.
func (r *Registry) MovePath(ctx context.Context, id, from, to string, replace bool, c api.Caller) error {
	needsCopy := false
	err := r.onPath(ctx, id, c, func(_ context.Context, t *paths.Tree) error {
		err := t.Move(from, to, replace)
		if needsCopy = errors.Is(err, paths.ErrOtherFileSystem); needsCopy {
			return nil
		}
		return err
	})
	if err != nil || !needsCopy {
		return err
	}
	return r.copyPath(ctx, id, from, to, replace, c)
}

func (r *Registry) copyPath(ctx context.Context, id, from, to string, replace bool, c api.Caller) error {
	st, err := r.PathStatus(ctx, id, from, false, c)
	if err != nil {
		return err
	}
	if st.Kind != api.RegularFile {
		return api.Refuse(api.CodeFileConflict,
			"path %q is a %s, and %q is in another file system: only regular files are moved between file systems, such as "+
				"/box, /tmp and /workspace: have a program move it (mv)", st.Path, st.Kind, to)
	}
	content, err := r.OpenPath(ctx, id, from, 0, -1, c)
	if err != nil {
		return err
	}
	defer content.Body.Close()
	mode := st.Mode & 0o777
	if err := r.writePath(ctx, id, to, &mode, replace, &boundReader{ctx, content.Body}, c); err != nil {
		return err
	}
	return r.RemovePath(ctx, id, from, false, c)
}

// A boundReader reads until its context ends.
type boundReader struct {
	ctx context.Context // of the request that copies
	io.Reader
}

func (b *boundReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.Reader.Read(p)
}
