package runtime

import (
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// RemoveFile removes a name from /box, or from the volume: a file, a link itself, or an
// empty directory.
func (h *Host) RemoveFile(id, name string, volume bool, c Caller) error {
	s, at, err := h.enterFile(id, name, volume, c)
	if err != nil {
		return err
	}
	defer s.leave()
	if err := s.remove(at, name); err != nil {
		return h.told(s.excuse(err), id)
	}
	return nil
}

func (s *session) remove(at site, name string) error {
	release, err := s.hold()
	if err != nil {
		return err
	}
	defer release()
	dir, err := openBeneath(at.root, path.Dir(name), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err == nil {
		defer dir.Close()
		err = unix.Unlinkat(fd(dir), path.Base(name), 0)
		if errors.Is(err, unix.EISDIR) {
			err = unix.Unlinkat(fd(dir), path.Base(name), unix.AT_REMOVEDIR)
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

// ListFiles lists what lies below a directory of /box, or of the volume; an empty name is
// that itself.
func (h *Host) ListFiles(id, dir string, volume bool, c Caller) (api.FileList, error) {
	s, err := h.sessions.find(id, c)
	if err != nil {
		return api.FileList{}, err
	}
	if dir == "" {
		dir = "."
	} else if err := api.FileName(dir); err != nil {
		return api.FileList{}, err
	}
	at, err := s.enterSite(volume)
	if err != nil {
		return api.FileList{}, err
	}
	defer s.leave()
	l := lister{root: at.root, list: api.FileList{Files: []api.FileInfo{}}}
	release, err := s.hold()
	if err != nil {
		return l.list, err
	}
	defer release()
	if err := l.dir(dir, 0); err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			return l.list, api.Refuse(api.CodeNotFound, "there is no directory %q in the session", dir)
		}
		return l.list, h.told(s.excuse(err), id)
	}
	return l.list, nil
}

// A lister walks a tree that changes as it goes: it tells what it saw, and is bounded
// by what it looks at.
type lister struct {
	root *os.File
	list api.FileList
	seen int
}

// dir lists one directory and what is below it. Only that of the first is an error.
func (l *lister) dir(name string, depth int) error {
	d, err := openBeneath(l.root, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(api.ListFilesMax - l.seen + 1)
	if cerr := d.Close(); err == nil || errors.Is(err, io.EOF) {
		err = cerr
	}
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, base := range names {
		if l.seen == api.ListFilesMax {
			l.list.More = true
			return nil
		}
		l.seen++
		l.entry(path.Join(name, base), depth)
	}
	return nil
}

func (l *lister) entry(name string, depth int) {
	if !utf8.ValidString(name) || api.FileName(name) != nil {
		l.skip(name, "the name is not UTF-8, or too long")
		return
	}
	f, err := openBeneath(l.root, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ELOOP) { // RESOLVE_NO_SYMLINKS holds for the last part too
		l.list.Files = append(l.list.Files, api.FileInfo{Name: name, Kind: api.Symlink})
		return
	}
	var st unix.Stat_t
	if err == nil {
		err = errors.Join(unix.Fstat(fd(f), &st), f.Close())
	}
	if err != nil {
		l.skip(name, reason(err))
		return
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
	l.list.Files = append(l.list.Files, info)
	if info.Kind != api.Directory {
		return
	}
	if depth == collectDepth {
		l.skip(name, "deeper directories are not listed")
	} else if err := l.dir(name, depth+1); err != nil {
		l.skip(name, reason(err))
	}
}

func (l *lister) skip(name, why string) {
	if len(l.list.Skipped) == collectSkipped {
		l.list.More = true
		return
	}
	l.list.Skipped = append(l.list.Skipped, api.Skipped{Name: printable(name), Reason: why})
}
