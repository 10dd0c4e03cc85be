package paths

import (
	"errors"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// Modes of what is made without a wish: those of a program with umask 022.
const (
	fileMode = 0o644
	dirMode  = 0o755
)

// A Draft is a file that is being written. It has no name yet, or where the file system cannot do
// that, a temporary one beside the final one. Until Place it changes nothing that has a name.
type Draft struct {
	File *os.File // open for writing
	Dir  *os.File // of the final name

	tree    *Tree
	name    string
	replace bool
	temp    string // its temporary name in dir; empty: it has none
	mode    uint32
}

// Create begins to write a file at a path. It makes missing directories. If there is a file that the
// program may not write to, Create fails, although the directory may permit to replace it: a file that
// is read-only stays as it is. mode is that of the file; nil: that of the one which it replaces, or
// 0644. Without replace there must be nothing. The caller must Place or Discard the draft.
func (t *Tree) Create(name string, mode *uint32, replace bool) (d *Draft, err error) {
	err = t.do(func() error {
		d, err = t.create(name, mode, replace)
		return err
	})
	return d, Error(name, err)
}

func (t *Tree) create(name string, mode *uint32, replace bool) (*Draft, error) {
	base := path.Base(name)
	if base == "/" {
		return nil, unix.EISDIR
	}
	dir, err := t.makeDirs(path.Dir(name), dirMode)
	if err != nil {
		return nil, err
	}

	d := &Draft{tree: t, Dir: dir, name: base, mode: fileMode, replace: replace}
	if err = d.lookAtOld(); err == nil {
		err = d.open()
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	if mode != nil {
		d.mode = *mode
	}
	return d, nil
}

// lookAtOld looks at what the draft will replace. It does so by a handle: a look by name would follow a
// link that a program puts there meanwhile, from the root of the agent (PTH-01).
func (d *Draft) lookAtOld() error {
	old, err := linux.OpenChild(d.Dir, d.name, unix.O_PATH|unix.O_NOFOLLOW)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.ELOOP) && d.replace: // a link is replaced
		return nil
	case errors.Is(err, unix.ELOOP):
		return unix.EEXIST
	case err != nil:
		return err
	}
	defer old.Close()
	if !d.replace {
		return unix.EEXIST
	}

	st, err := fstat(old)
	switch {
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return unix.EISDIR
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil // a FIFO or a socket is replaced, and not opened
	}
	d.mode = st.Mode & 0o777
	return os.NewSyscallError("faccessat", unix.Faccessat(unix.AT_FDCWD, ProcFD(old), unix.W_OK, 0))
}

// open makes the file without a name (O_TMPFILE), or with a temporary one.
func (d *Draft) open() error {
	n, err := unix.Openat(linux.FD(d.Dir), ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) {
		d.temp = tempName()
		const flags = unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		n, err = unix.Openat(linux.FD(d.Dir), d.temp, flags, 0o600)
	}
	if err != nil {
		return os.NewSyscallError("openat", err)
	}
	d.File = os.NewFile(uintptr(n), d.name)
	return nil
}

func tempName() string { return ".brig-" + plan.NewID() }

// Detach ends the writing: it sets the mode and exchanges the handle for one that is not open for
// writing: the kernel executes no file that is (ETXTBSY; FIO-13).
func (d *Draft) Detach() error {
	err := d.tree.do(func() error {
		if err := unix.Fchmod(linux.FD(d.File), d.mode); err != nil {
			return os.NewSyscallError("fchmod", err)
		}
		f, err := Detached(d.File)
		if err != nil {
			return err
		}
		d.File = f
		return nil
	})
	return Error(d.name, err)
}

// Detached closes a file and returns a handle of it that is open neither for reading nor for writing.
func Detached(writing *os.File) (*os.File, error) {
	n, err := unix.Open(ProcFD(writing), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	f := os.NewFile(uintptr(n), writing.Name())
	if err := writing.Close(); err != nil {
		return nil, errors.Join(err, f.Close())
	}

	// A process that forked meanwhile to start another cell may have inherited the handle that is
	// closed now. When this lock is acquired, such a child has executed another program.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return f, nil
}

// Place gives a detached draft its name, in place of whatever had it. The draft is closed.
func (d *Draft) Place() error {
	err := d.tree.do(func() error {
		switch {
		case d.temp != "":
			return rename(d.Dir, d.temp, d.Dir, d.name, d.replace)
		case d.replace:
			return Install(d.File, d.Dir, d.name)
		}
		err := unix.Linkat(unix.AT_FDCWD, ProcFD(d.File), linux.FD(d.Dir), d.name, unix.AT_SYMLINK_FOLLOW)
		return os.NewSyscallError("linkat", err)
	})
	if err != nil {
		return errors.Join(Error(d.name, err), d.Discard())
	}
	return errors.Join(d.File.Close(), d.Dir.Close())
}

// Discard removes a draft. Nothing is left of it.
func (d *Draft) Discard() error {
	var err error
	if d.temp != "" {
		err = d.tree.do(func() error { return unix.Unlinkat(linux.FD(d.Dir), d.temp, 0) })
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) { // the program has taken it, or the directory
			err = nil
		}
	}
	_ = d.File.Close() // it may be closed already
	return errors.Join(err, d.Dir.Close())
}

// installTries limits how often a program may remove the temporary name of a file before the file
// has its final one.
const installTries = 10

// Install gives a file without a name one in dir, replacing whatever has that name. A link does not
// replace, so the file gets another name first and is renamed. A rename replaces a link and does
// not follow it.
func Install(file, dir *os.File, base string) error {
	err := unix.Linkat(unix.AT_FDCWD, ProcFD(file), linux.FD(dir), base, unix.AT_SYMLINK_FOLLOW)
	if !errors.Is(err, unix.EEXIST) {
		return os.NewSyscallError("linkat", err)
	}

	for range installTries {
		other := tempName()
		if err := unix.Linkat(unix.AT_FDCWD, ProcFD(file), linux.FD(dir), other, unix.AT_SYMLINK_FOLLOW); err != nil {
			return os.NewSyscallError("linkat", err)
		}

		err = unix.Renameat(linux.FD(dir), other, linux.FD(dir), base)
		if err == nil {
			return nil
		}
		if rerr := unix.Unlinkat(linux.FD(dir), other, 0); rerr != nil && !errors.Is(rerr, unix.ENOENT) {
			return os.NewSyscallError("unlinkat", rerr)
		}
		if !errors.Is(err, unix.ENOENT) {
			break
		}
	}

	return os.NewSyscallError("renameat", err)
}

// makeDirs returns the handle of a directory and makes missing parts of its path. A program may
// exchange any of them meanwhile: then the rest is made where the program itself could make it.
func (t *Tree) makeDirs(name string, mode uint32) (*os.File, error) {
	dir, err := t.lookup(name, unix.O_DIRECTORY)
	if !errors.Is(err, unix.ENOENT) {
		return dir, err
	}
	if name == "/" {
		return nil, err
	}

	parent, err := t.makeDirs(path.Dir(name), dirMode)
	if err != nil {
		return nil, err
	}
	defer parent.Close()

	base := path.Base(name)
	err = makeDir(parent, base, mode)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, err
	}
	dir, err = linux.OpenChild(parent, base, unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, unix.ELOOP) { // there is a link that leads to nothing
		err = unix.ENOTDIR
	}
	return dir, err
}

// makeDir makes a directory with a mode that does not depend on the umask of the agent.
func makeDir(parent *os.File, base string, mode uint32) error {
	if err := unix.Mkdirat(linux.FD(parent), base, 0o700); err != nil {
		return os.NewSyscallError("mkdirat", err)
	}
	made, err := linux.OpenChild(parent, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer made.Close()
	return os.NewSyscallError("fchmod", unix.Fchmod(linux.FD(made), mode))
}

// MakeDir makes a directory, and the missing ones on its path. It reports whether there was none.
func (t *Tree) MakeDir(name string, mode *uint32) (made bool, err error) {
	err = t.do(func() error {
		if name == "/" {
			return nil
		}
		parent, err := t.makeDirs(path.Dir(name), dirMode)
		if err != nil {
			return err
		}
		defer parent.Close()

		as := uint32(dirMode)
		if mode != nil {
			as = *mode
		}
		err = makeDir(parent, path.Base(name), as)
		if !errors.Is(err, unix.EEXIST) {
			made = err == nil
			return err
		}

		dir, err := t.lookup(name, unix.O_DIRECTORY) // a link to a directory will do
		if errors.Is(err, unix.ENOENT) {
			err = unix.EEXIST // a link that leads to nothing
		}
		if err == nil {
			err = dir.Close()
		}
		return err
	})
	return made, Error(name, err)
}

// Link makes a symbolic link. What it says is not looked at: the kernel follows it for no one with more
// rights than who follows it.
func (t *Tree) Link(name, target string) error {
	return Error(name, t.do(func() error {
		base := path.Base(name)
		if base == "/" {
			return unix.EEXIST
		}
		dir, err := t.makeDirs(path.Dir(name), dirMode)
		if err != nil {
			return err
		}
		defer dir.Close()
		return os.NewSyscallError("symlinkat", unix.Symlinkat(target, linux.FD(dir), base))
	}))
}

func rename(source *os.File, base string, dest *os.File, name string, replace bool) error {
	flags := uint(unix.RENAME_NOREPLACE)
	if replace {
		flags = 0
	}
	return os.NewSyscallError("renameat2", unix.Renameat2(linux.FD(source), base, linux.FD(dest), name, flags))
}

// ErrOtherFileSystem is the error of Move for a file that would have to be copied.
var ErrOtherFileSystem = errors.New("the new path is in another file system")

// Move gives what has a path another one. It makes missing directories. With replace it replaces a
// file, a link, or an empty directory by a directory; without, there must be nothing.
func (t *Tree) Move(from, to string, replace bool) error {
	var errTo error
	err := t.do(func() error {
		source, base, err := t.parent(from)
		if err != nil {
			return err
		}
		defer source.Close()
		if err := unix.Fstatat(linux.FD(source), base, new(unix.Stat_t), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}

		if path.Base(to) == "/" {
			errTo = unix.EEXIST
			return nil
		}
		dest, err := t.makeDirs(path.Dir(to), dirMode)
		if err != nil {
			errTo = err
			return nil
		}
		defer dest.Close()

		errTo = rename(source, base, dest, path.Base(to), replace)
		switch {
		case errors.Is(errTo, unix.ENOENT): // it was there a moment ago
			errTo, err = nil, errTo
		case errors.Is(errTo, unix.EXDEV): // before anything is copied that could not be removed
			err = os.NewSyscallError("faccessat", unix.Faccessat(unix.AT_FDCWD, ProcFD(source), unix.W_OK|unix.X_OK, 0))
		}
		return err
	})
	if err != nil {
		return Error(from, err)
	}
	if errors.Is(errTo, unix.EXDEV) {
		return ErrOtherFileSystem
	}
	return Error(to, errTo)
}
