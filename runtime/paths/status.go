package paths

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// Status describes what has a path: of a link the link itself, or with follow what it leads to.
func (t *Tree) Status(name string, follow bool) (s api.PathStatus, err error) {
	flags := uint64(unix.O_NOFOLLOW)
	if follow {
		flags = 0
	}
	err = t.do(func() error {
		f, err := t.lookup(name, flags)
		if err != nil {
			return err
		}
		defer f.Close()

		st, err := fstat(f)
		if err != nil {
			return err
		}
		s = t.status(name, &st)
		if s.Kind == api.Symlink {
			s.Target, err = linkTarget(f, "")
		}
		return err
	})
	return s, Error(name, err)
}

// linkTarget reads a link: the handle itself, or the entry of a directory. A target that is not UTF-8 is
// replaced in part.
func linkTarget(f *os.File, base string) (string, error) {
	b := make([]byte, api.MaxPath+1)
	n, err := unix.Readlinkat(linux.FD(f), base, b)
	if err != nil {
		return "", os.NewSyscallError("readlinkat", err)
	}
	text, _ := api.PrintablePath(string(b[:n]))
	return text, nil
}

func (t *Tree) status(name string, st *unix.Stat_t) api.PathStatus {
	s := api.PathStatus{
		Kind: kindOf(st.Mode), Mode: st.Mode & 0o7777, UID: t.inCell(st.Uid, t.UID), GID: t.inCell(st.Gid, t.GID),
		Modified: api.FormatModified(st.Mtim.Sec, st.Mtim.Nsec),
	}
	s.Path, s.Bytes = api.PrintablePath(name)
	if s.Kind == api.RegularFile {
		s.Size = st.Size
	}
	s.Permissions = api.Permissions(s.Kind, s.Mode)
	s.Owner, s.Group = nameOf(s.UID), nameOf(s.GID)
	return s
}

func kindOf(mode uint32) api.FileKind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return api.RegularFile
	case unix.S_IFDIR:
		return api.Directory
	case unix.S_IFLNK:
		return api.Symlink
	}
	return api.OtherFile
}

// overflowID is what the kernel shows for an id that has no number in a user namespace.
const overflowID = 65534

// inCell returns a host id as the program sees it. own is the program's, in the cell.
func (t *Tree) inCell(id uint32, own int) uint32 {
	if t.Owns {
		if int64(id) == int64(t.Base+own) {
			return 0
		}
		return overflowID
	}
	if n := int64(id) - int64(t.Base); n >= 0 && n < plan.IDCount {
		return uint32(n)
	}
	return overflowID
}

// nameOf names the ids whose names are the same in every image (rootfs/archive/finalize.go). The agent
// reads no /etc/passwd, which a stranger wrote.
func nameOf(id uint32) string {
	switch id {
	case 0:
		return "root"
	case plan.UID:
		return "sandboxuser"
	}
	return strconv.FormatUint(uint64(id), 10)
}

// A Content is a regular file that is open for reading. The caller closes it.
type Content struct {
	File   *os.File
	Status api.PathStatus
	Room   int64 // size of its file system: a file that claims more is sparse
}

// Open opens a regular file for reading.
func (t *Tree) Open(name string) (c Content, err error) {
	err = t.do(func() error {
		f, err := t.lookup(name, 0)
		if err != nil {
			return err
		}
		defer f.Close()

		st, err := fstat(f)
		if err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			return wrongKind(name, st.Mode, "regular file")
		}

		var fs unix.Statfs_t
		if err := unix.Fstatfs(linux.FD(f), &fs); err != nil {
			return os.NewSyscallError("fstatfs", err)
		}
		c.Room = int64(fs.Blocks) * int64(fs.Bsize) //nolint:unconvert // 32 bits on some architectures
		c.Status = t.status(name, &st)
		c.File, err = reopen(f, unix.O_RDONLY)
		return err
	})
	return c, Error(name, err)
}
