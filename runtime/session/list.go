package session

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/run"
)

// RemoveFile removes a name from /box, or from the volume: a file, a link itself, or an
// empty directory.
func (r *Registry) RemoveFile(id, name string, volume bool, c api.Caller) error {
	s, at, err := r.enterDirOf(id, name, volume, c)
	if err != nil {
		return err
	}
	defer s.leave()
	if err := s.remove(at, name); err != nil {
		return run.ToAPIError(r.log, s.sessionEndedError(err), id)
	}
	return nil
}

func (s *session) remove(at sessionDir, name string) error {
	release, err := s.holdHandles()
	if err != nil {
		return err
	}
	defer release()

	dir, err := linux.OpenBeneath(at.root, path.Dir(name), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err == nil {
		defer dir.Close()
		err = unix.Unlinkat(linux.FD(dir), path.Base(name), 0)
		if errors.Is(err, unix.EISDIR) {
			err = unix.Unlinkat(linux.FD(dir), path.Base(name), unix.AT_REMOVEDIR)
		}
	}

	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return api.Refuse(api.CodeNotFound, "there is no file %q in the session", name)
	case errors.Is(err, unix.ENOTEMPTY):
		return api.Refuse(api.CodeBadFile, "directory %q is not empty: remove what is in it first", name)
	case errors.Is(err, unix.EROFS):
		return at.putError(name, err)
	case err != nil:
		return os.NewSyscallError("unlinkat", err)
	}

	return nil
}

// ListFiles lists what lies below a directory of /box, or of the volume; an empty name is the root.
// It ends when ctx ends. Lists wait for each other in order; if too many wait, the error is busy.
// hold is called before memory is used, like api.Memory.Keep.
func (r *Registry) ListFiles(ctx context.Context, id, dir string, volume bool, hold func(bytes int64) error,
	c api.Caller) (api.FileList, error) {
	s, err := r.find(id, c)
	if err != nil {
		return api.FileList{}, err
	}
	if dir == "" {
		dir = "."
	} else if err := api.FileName(dir); err != nil {
		return api.FileList{}, err
	}

	at, err := s.enterDir(volume)
	if err != nil {
		return api.FileList{}, err
	}
	defer s.leave()

	end, err := r.beginList(ctx, s)
	if err != nil {
		return api.FileList{}, err
	}
	defer end()

	if err := hold(listRetention); err != nil {
		return api.FileList{}, err
	}

	l := lister{ctx: ctx, root: at.root, list: api.FileList{Files: []api.FileInfo{}}}
	release, err := s.holdHandles()
	if err != nil {
		return l.list, err
	}
	defer release()

	if err := l.dir(dir, 0); err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			return l.list, api.Refuse(api.CodeNotFound, "there is no directory %q in the session", dir)
		}
		if ctx.Err() != nil {
			return api.FileList{}, errListCanceled
		}
		return l.list, run.ToAPIError(r.log, s.sessionEndedError(err), id)
	}

	return l.list, hold(l.retainedBytes() - listRetention)
}

// retainedBytes is the memory that the list takes until it is answered: the list and its JSON.
func (l *lister) retainedBytes() int64 {
	const entry = 256 // of a FileInfo, in a slice that has grown, and the JSON apart from the name
	return int64(2*l.reportedBytes + entry*(len(l.list.Files)+len(l.list.Skipped)))
}

// beginList waits until the agent may make a list of the session's files.
func (r *Registry) beginList(ctx context.Context, s *session) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.over, cancel)()

	own, err := s.lists.acquire(ctx)
	if err != nil {
		return nil, s.sessionEndedError(err)
	}

	leave, err := r.lists.acquire(ctx)
	if err != nil {
		own()
		return nil, s.sessionEndedError(err)
	}
	return func() { leave(); own() }, nil
}

// A lister walks a tree that changes meanwhile. It reports what it saw. What it reads and what it
// reports is limited (AGT-43).
type lister struct {
	ctx           context.Context // of this one list
	root          *os.File
	list          api.FileList
	namesRead     int // names read from directories
	reportedBytes int // bytes of the reported names and reasons, as JSON
}

// dir lists one directory and everything below it. Only an error of the first directory, and the
// end of the context, are returned as errors.
func (l *lister) dir(name string, depth int) error {
	d, err := linux.OpenBeneath(l.root, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}

	left := api.ListFilesMax - l.namesRead // shared by all directories that are open on the way down
	names, err := d.Readdirnames(left + 1)
	if cerr := d.Close(); err == nil || errors.Is(err, io.EOF) {
		err = cerr
	}
	if err != nil {
		return err
	}
	if len(names) > left {
		names, l.list.More = names[:left], true
	}

	l.namesRead += len(names)
	slices.Sort(names)

	for _, base := range names {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		if l.reportedBytes >= api.ListFilesBytes {
			l.list.More = true
			return nil
		}
		if err := l.entry(path.Join(name, base), depth); err != nil {
			return err
		}
	}

	return nil
}

// entry lists what has one name. Only the end of the context is an error.
func (l *lister) entry(name string, depth int) error {
	if !utf8.ValidString(name) || api.FileName(name) != nil {
		l.skip(name, "the name is not UTF-8, or too long")
		return nil
	}

	f, err := linux.OpenBeneath(l.root, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ELOOP) { // RESOLVE_NO_SYMLINKS applies to the last part too
		l.add(api.FileInfo{Name: name, Kind: api.Symlink})
		return nil
	}

	var st unix.Stat_t
	if err == nil {
		err = errors.Join(unix.Fstat(linux.FD(f), &st), f.Close())
	}
	if err != nil {
		l.skip(name, cell.LookupReason(err))
		return nil
	}

	info := api.FileInfo{Name: name, Kind: api.OtherFile}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		info.Kind, info.Size, info.Executable = api.RegularFile, st.Size, st.Mode&0o100 != 0
	case unix.S_IFLNK:
		info.Kind = api.Symlink
	case unix.S_IFDIR:
		info.Kind = api.Directory
	}

	l.add(info)
	if info.Kind != api.Directory {
		return nil
	}
	if depth == outputs.CollectDepth {
		l.skip(name, "deeper directories are not listed")
	} else if err := l.dir(name, depth+1); l.ctx.Err() != nil {
		return l.ctx.Err()
	} else if err != nil {
		l.skip(name, cell.LookupReason(err))
	}

	return nil
}

func (l *lister) add(info api.FileInfo) {
	l.reportedBytes += quotedSize(info.Name)
	l.list.Files = append(l.list.Files, info)
}

func (l *lister) skip(name, why string) {
	if len(l.list.Skipped) == outputs.CollectSkipped {
		l.list.More = true
		return
	}
	name = cell.PrintableName(name)
	l.reportedBytes += quotedSize(name) + quotedSize(why)
	l.list.Skipped = append(l.list.Skipped, api.Skipped{Name: name, Reason: why})
}

// quotedSize is the number of bytes that a text takes in JSON.
func quotedSize(text string) int {
	quoted, _ := json.Marshal(text) // does not fail for a string
	return len(quoted)
}
