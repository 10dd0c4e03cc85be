package snapshot

import (
	"context"
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A Restore makes the files of a snapshot in a session. Its caller has the rights of the session's program, which so owns
// them, on a thread that ends with it: its umask changes. Each file takes as few calls of the kernel as it can, because
// with thousands of small files these calls are the time.
type Restore struct {
	Root  *os.File // the directory that has the places
	Among bool     // programs may run, and there may be files: those of the same path are replaced

	in    *reader
	dirs  []made // from a place down to the directory in which the next record is
	times []unix.Timespec
}

// made is a directory that is open, and what it gets when all that is in it is there.
type made struct {
	fd   int
	as   header
	keep bool // it was there before, and stays as it is
	path string
}

// Read makes all files. If it fails, some may be there.
func (r *Restore) Read(ctx context.Context, from *os.File) (err error) {
	r.in, r.times = newReader(from), make([]unix.Timespec, 2)
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // the umask is that of all threads otherwise
		return os.NewSyscallError("unshare", err)
	}
	unix.Umask(0)
	defer func() {
		for _, d := range r.dirs {
			err = errors.Join(err, unix.Close(d.fd))
		}
	}()

	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, err := r.in.next()
		if err != nil || rec.Kind == kindEnd {
			return err
		}
		if err := r.entry(rec); err != nil {
			return explain(path.Join(r.path(), rec.Name), err)
		}
	}
}

func (r *Restore) path() string {
	if len(r.dirs) == 0 {
		return "/"
	}
	return r.dirs[len(r.dirs)-1].path
}

// explain tells the caller what is in the way of a file.
func explain(name string, err error) error {
	refuse := func(code api.Code, why string) error {
		return api.Refuse(code, "path %q: %s", printable(name), why)
	}
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EFBIG):
		return refuse(api.CodeNoSpace, "it does not fit into what is left of the session's scratch: ask for more scratch or inodes "+
			"(--scratch, --inodes), or remove files")
	case errors.Is(err, unix.EEXIST), errors.Is(err, unix.EISDIR), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP),
		errors.Is(err, unix.ENOTEMPTY):
		return refuse(api.CodeFileConflict, "the session has something of another kind there: remove it first")
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return refuse(api.CodeFileDenied, "the programs of the session have no right to write there")
	case errors.Is(err, unix.ENOENT):
		return refuse(api.CodeFileConflict, "a program removed its directory meanwhile")
	}
	return err
}

func (r *Restore) entry(rec *record) error {
	switch rec.Kind {
	case kindDir:
		return r.dir(rec)
	case kindLeave:
		return r.leave()
	}

	at := r.dirs[len(r.dirs)-1].fd // the reader has checked that there is one
	switch rec.Kind {
	case kindFile:
		return r.file(at, rec)
	case kindSymlink:
		return r.symlink(at, rec)
	case kindHard:
		return r.hardLink(at, rec)
	}
	return errDamaged
}

// dir makes and enters a directory. Places exist.
func (r *Restore) dir(rec *record) error {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	if len(r.dirs) == 0 {
		if rec.Name != "box" && rec.Name != "tmp" {
			return errDamaged
		}
		fd, err := unix.Openat(linux.FD(r.Root), rec.Name, flags, 0)
		if err != nil {
			return os.NewSyscallError("openat", err)
		}
		r.dirs = append(r.dirs, made{fd: fd, keep: true, path: "/" + rec.Name})
		return nil
	}

	at, keep := r.dirs[len(r.dirs)-1], false
	err := unix.Mkdirat(at.fd, rec.Name, 0o700)
	if r.Among && errors.Is(err, unix.EEXIST) {
		keep, err = true, nil
	}
	if err != nil {
		return os.NewSyscallError("mkdirat", err)
	}
	fd, err := open(at.fd, rec.Name, unix.O_DIRECTORY)
	if err != nil {
		return os.NewSyscallError("openat2", err)
	}
	r.dirs = append(r.dirs, made{fd: fd, as: rec.header, keep: keep, path: path.Join(at.path, rec.Name)})
	return nil
}

// leave gives a directory its mode and its time: before, it may not have been writable.
func (r *Restore) leave() error {
	last := len(r.dirs) - 1
	d := r.dirs[last]
	r.dirs = r.dirs[:last]
	var err error
	if !d.keep {
		if err = os.NewSyscallError("fchmod", unix.Fchmod(d.fd, uint32(d.as.Mode))); err == nil {
			err = r.setTime(d.fd, &d.as)
		}
	}
	return errors.Join(err, unix.Close(d.fd))
}

// setTime sets the time of what is open.
func (r *Restore) setTime(fd int, as *header) error {
	r.times[0] = unix.Timespec{Nsec: unix.UTIME_OMIT}
	r.times[1] = unix.Timespec{Sec: as.Sec, Nsec: int64(as.Nsec)}
	return os.NewSyscallError("futimens", futimens(fd, r.times))
}

// file makes a file. Among programs it gets another name first, so that no part of it is seen, and nothing is written
// through what has its name.
func (r *Restore) file(at int, rec *record) error {
	name, mode := rec.Name, uint32(rec.Mode)
	if r.Among {
		name, mode = ".brig-"+plan.NewID(), 0o600
	}
	fd, err := unix.Openat(at, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return os.NewSyscallError("openat", err)
	}
	err = r.content(fd, rec)
	if r.Among && err == nil {
		err = os.NewSyscallError("fchmod", unix.Fchmod(fd, uint32(rec.Mode)))
	}
	err = errors.Join(err, unix.Close(fd))
	if r.Among {
		if err == nil {
			err = os.NewSyscallError("renameat", unix.Renameat(at, name, at, rec.Name))
		}
		if err != nil {
			_ = unix.Unlinkat(at, name, 0) // the program may have taken it
		}
	}
	return err
}

func (r *Restore) content(fd int, rec *record) error {
	written := int64(0)
	_, err := r.in.content(rec.Size, func(offset int64, b []byte) error {
		for len(b) > 0 {
			n, err := unix.Pwrite(fd, b, offset)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil {
				return os.NewSyscallError("pwrite", err)
			}
			offset, b = offset+int64(n), b[n:]
		}
		written = offset
		return nil
	})
	if err != nil {
		return err
	}
	if written < rec.Size { // it ends with a hole
		if err := unix.Ftruncate(fd, rec.Size); err != nil {
			return os.NewSyscallError("ftruncate", err)
		}
	}
	return r.setTime(fd, &rec.header)
}

func (r *Restore) symlink(at int, rec *record) error {
	if r.Among {
		return errDamaged // nothing that is taken has one
	}
	if err := unix.Symlinkat(rec.Text, at, rec.Name); err != nil {
		return os.NewSyscallError("symlinkat", err)
	}
	r.times[0] = unix.Timespec{Nsec: unix.UTIME_OMIT}
	r.times[1] = unix.Timespec{Sec: rec.Sec, Nsec: int64(rec.Nsec)}
	return os.NewSyscallError("utimensat", unix.UtimesNanoAt(at, rec.Name, r.times, unix.AT_SYMLINK_NOFOLLOW))
}

// hardLink gives a file one more name. The path of the first one is looked up below the places, and no link is followed.
func (r *Restore) hardLink(at int, rec *record) error {
	if r.Among || !strings.HasPrefix(rec.Text, "/") {
		return errDamaged
	}
	dir, err := linux.OpenBeneath(r.Root, strings.TrimPrefix(path.Dir(rec.Text), "/"), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	return os.NewSyscallError("linkat", unix.Linkat(linux.FD(dir), path.Base(rec.Text), at, rec.Name, 0))
}
