package snapshot

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/lookup"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// Places are the directories of a session whose files a snapshot has, by their names at its root.
func Places() []string { return []string{"box", "tmp"} }

// A Walk goes through the files of a session and writes what it finds. Its caller has the rights of the session's program.
type Walk struct {
	Root   *os.File // the directory that has the places
	Paths  []string // cleaned; none: all
	Strict bool     // what cannot be in a snapshot is an error, and no link of any kind is copied

	UID     int // host id of the program: a file with several names must be its own; only with Strict
	LeftOut []api.Skipped
	Omitted int64

	ctx    context.Context // of this one walk
	to     *Writer
	links  map[inode]string // first path of files with several names
	linked int              // bytes that links takes
	held   int              // names that the directories on the way down hold
	buf    []byte
}

type inode struct{ dev, ino uint64 }

// maxLeftOut is how many of those that are left out are named.
const maxLeftOut = 64

// Memory is the most that a walk, or what reads a snapshot, takes: names of directories, paths of files with several names,
// and buffers (SNP-06).
const Memory = int64(64 * api.MiB)

// maxLinkBytes bounds the paths that are kept because their files have several names. Above, a name becomes a file of
// its own.
const maxLinkBytes = 16 << 20

// Write writes the files. The error is for the caller of the agent, or the agent's own.
func (w *Walk) Write(ctx context.Context, to *Writer) error {
	w.ctx, w.to, w.links, w.buf = ctx, to, map[inode]string{}, make([]byte, maxChunk)
	only := wanted(w.Paths)
	for _, place := range Places() {
		sub, is := only.children[place]
		if !only.all && !is {
			continue
		}
		if err := to.record(&record{header: header{Kind: kindDir}, Name: place}); err != nil {
			return err
		}
		fd, err := unix.Openat(linux.FD(w.Root), place, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if only.all {
			sub = only
		}
		if err == nil {
			err = w.dir(fd, "/"+place, 1, sub)
		} else {
			err = w.refused("/"+place, os.NewSyscallError("openat", err)) // the program may have taken its own right
		}
		if err != nil {
			return err
		}
		if err := to.record(&record{header: header{Kind: kindLeave}}); err != nil {
			return err
		}
	}
	return nil
}

// A want says which paths below a directory are asked for.
type want struct {
	all      bool
	children map[string]*want
}

func wanted(paths []string) *want {
	root := &want{all: len(paths) == 0}
	for _, p := range paths {
		at := root
		for part := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
			if at.children == nil {
				at.children = map[string]*want{}
			}
			if at.children[part] == nil {
				at.children[part] = &want{}
			}
			at = at.children[part]
		}
		at.all = true
	}
	return root
}

// dir writes what is in a directory, which it closes.
func (w *Walk) dir(fd int, name string, depth int, only *want) error {
	defer unix.Close(fd)
	if depth > api.SnapshotDepthMax {
		return api.Refuse(api.CodeTooLarge, "there are more than %d directories in one another: remove some (rm -r), or name the paths "+
			"that you need", api.SnapshotDepthMax)
	}

	names, err := w.names(fd, only)
	if err != nil {
		return err
	}
	defer func() { w.held -= len(names) }()
	for _, base := range names {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		below := only
		if !only.all {
			below = only.children[base]
		}
		if err := w.entry(fd, base, path.Join(name, base), depth, below); err != nil {
			return err
		}
	}
	return nil
}

// names returns the sorted names of a directory, or those that are asked for.
func (w *Walk) names(fd int, only *want) ([]string, error) {
	var names []string
	if !only.all {
		for n := range only.children {
			names = append(names, n)
		}
		slices.Sort(names)
		w.held += len(names)
		return names, nil
	}
	for {
		n, err := unix.ReadDirent(fd, w.buf[:32<<10])
		if err != nil {
			return nil, os.NewSyscallError("getdents64", err)
		}
		if n <= 0 {
			break
		}
		before := len(names)
		_, _, names = unix.ParseDirent(w.buf[:n], -1, names)
		w.held += len(names) - before
		if int64(w.held)+w.to.counts.Files > api.SnapshotFilesMax {
			return nil, tooMany()
		}
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return names, nil
}

// entry writes what has a name.
func (w *Walk) entry(dir int, base, name string, depth int, only *want) error {
	var st unix.Stat_t
	err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return w.gone(name, only)
	}
	if err != nil {
		return w.refused(name, err)
	}
	if len(name) > api.MaxPath {
		return w.leaveOut(name, "its path is longer than a path can be")
	}

	switch kindOf := st.Mode & unix.S_IFMT; {
	case kindOf == unix.S_IFDIR:
		return w.directory(dir, base, name, depth, only)
	case !only.all:
		return api.Refuse(api.CodeNotFound, "path %q is not a directory, so nothing is below it", printable(name))
	case kindOf == unix.S_IFREG:
		return w.regular(dir, base, name)
	case kindOf == unix.S_IFLNK && w.Strict:
		return w.leaveOut(name, "it is a symbolic link: have a program copy what it leads to (cp -L)")
	case kindOf == unix.S_IFLNK:
		return w.symlink(dir, base, name, &st)
	}
	return w.leaveOut(name, "it is a FIFO, a socket or a device")
}

// gone is called for a name that is not there: one that a request has named must be.
func (w *Walk) gone(name string, only *want) error {
	for _, p := range w.Paths {
		if p == name || !only.all && strings.HasPrefix(p, name+"/") {
			return api.Refuse(api.CodeNotFound, "path %q: there is no such file in the session", printable(p))
		}
	}
	return nil
}

func printable(name string) string {
	text, _ := api.PrintablePath(name)
	return text
}

// refused leaves out what the program itself may not read.
func (w *Walk) refused(name string, err error) error {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return w.leaveOut(name, "the programs of the session may not read it")
	case errors.Is(err, unix.EAGAIN):
		return w.leaveOut(name, "a program has a lease on it")
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil // it was replaced: not everything stands still
	}
	return err
}

func (w *Walk) leaveOut(name, why string) error {
	if w.Strict {
		return api.Refuse(api.CodeFileConflict, "path %q cannot be taken: %s", printable(name), why)
	}
	if len(w.LeftOut) == maxLeftOut {
		w.Omitted++
		return nil
	}
	w.LeftOut = append(w.LeftOut, api.Skipped{Name: printable(name), Reason: why})
	return nil
}

// open opens the entry of a directory: no link is followed, no FIFO or lease blocks, and nothing that is mounted there
// is entered.
func open(dir int, base string, flags uint64) (int, error) {
	return lookup.Openat2(dir, base, &unix.OpenHow{
		Flags:   flags | unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	})
}

func (w *Walk) directory(dir int, base, name string, depth int, only *want) error {
	fd, err := open(dir, base, unix.O_DIRECTORY)
	if err != nil {
		return w.refused(name, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return errors.Join(os.NewSyscallError("fstat", err), unix.Close(fd))
	}
	w.noteBits(name, st.Mode)
	if err := w.to.record(newRecord(kindDir, base, &st)); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	if err := w.dir(fd, name, depth+1, only); err != nil {
		return err
	}
	return w.to.record(&record{header: header{Kind: kindLeave}})
}

// noteBits says that bits of a mode are not kept.
func (w *Walk) noteBits(name string, mode uint32) {
	if mode&(unix.S_ISUID|unix.S_ISGID|unix.S_ISVTX) != 0 && !w.Strict {
		_ = w.leaveOut(name, "its setuid, setgid or sticky bit; the rest of it is there") // no error: it is not strict
	}
}

func newRecord(k kind, base string, st *unix.Stat_t) *record {
	return &record{header: header{Kind: k, Mode: uint16(st.Mode & 0o777), Sec: st.Mtim.Sec, Nsec: uint32(st.Mtim.Nsec)}, Name: base}
}

func (w *Walk) symlink(dir int, base, name string, st *unix.Stat_t) error {
	n, err := unix.Readlinkat(dir, base, w.buf[:maxText+1])
	switch {
	case errors.Is(err, unix.EINVAL):
		return nil // it was replaced
	case err != nil:
		return w.refused(name, err)
	case n == 0 || n > maxText:
		return w.leaveOut(name, "what the link says is longer than a path can be")
	}
	r := newRecord(kindSymlink, base, st)
	r.Mode, r.Text = 0, string(w.buf[:n])
	return w.to.record(r)
}

func (w *Walk) regular(dir int, base, name string) error {
	fd, err := open(dir, base, 0)
	if err != nil {
		return w.refused(name, err)
	}
	defer unix.Close(fd)

	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return w.leaveOut(name, "it is a FIFO, a socket or a device")
	}
	if st.Nlink > 1 {
		done, err := w.secondName(base, name, &st)
		if done || err != nil {
			return err
		}
	}

	w.noteBits(name, st.Mode)
	r := newRecord(kindFile, base, &st)
	r.Size = st.Size
	if err := w.to.record(r); err != nil {
		return err
	}
	if err := w.content(fd, &st); err != nil {
		return err
	}
	return w.to.endFile()
}

// secondName writes a file with several names as a link, if one of them was written before.
func (w *Walk) secondName(base, name string, st *unix.Stat_t) (done bool, err error) {
	if w.Strict {
		if int(st.Uid) != w.UID {
			return true, w.leaveOut(name, "it is a hard link to a file of somebody else")
		}
		return false, nil
	}
	at := inode{uint64(st.Dev), st.Ino} //nolint:unconvert // 32 bits on some architectures
	if first, is := w.links[at]; is {
		r := newRecord(kindHard, base, st)
		r.Text = first
		return true, w.to.record(r)
	}
	if w.linked += len(name) + 64; w.linked < maxLinkBytes {
		w.links[at] = name
	}
	return false, nil
}

// content writes the parts of a file that have been written. A hole is skipped at once, whatever its size (SNP-05).
func (w *Walk) content(fd int, st *unix.Stat_t) error {
	if st.Blocks*512 >= st.Size { // it has no hole worth two more calls
		return w.part(fd, 0, st.Size)
	}
	for end := int64(0); end < st.Size; {
		begin, err := unix.Seek(fd, end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil
		}
		if err == nil {
			end, err = unix.Seek(fd, begin, unix.SEEK_HOLE)
		}
		if err != nil {
			return os.NewSyscallError("lseek", err)
		}
		if err := w.part(fd, begin&^(block-1), min(end, st.Size)); err != nil {
			return err
		}
	}
	return nil
}

// part writes a part of a file.
func (w *Walk) part(fd int, begin, end int64) error {
	for begin < end {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		n, err := unix.Pread(fd, w.buf[:min(maxChunk, end-begin)], begin)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return os.NewSyscallError("pread", err)
		}
		if n == 0 {
			return nil // a program has shortened it: not everything stands still
		}
		if err := w.to.chunk(begin, w.buf[:n]); err != nil {
			return err
		}
		begin += int64(n)
	}
	return nil
}
