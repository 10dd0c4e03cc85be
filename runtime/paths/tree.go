// Package paths works on the files below the root of a cell as a program in it would: by absolute
// paths, with the program's ids and without any privilege of the agent.
//
// A program changes names while the agent works. So each step works on handles, and what a step may do
// the kernel decides for the program's ids (linux.WithRightsOf): whatever a name leads to when it is
// looked up, the agent reads, changes and removes nothing there that the program itself could not
// (PTH-01, PTH-05). Three things it does not do although the program may: it opens nothing but regular
// files and directories (PTH-06, PTH-07), it opens nothing in a file system of the kernel's, whose
// content depends on who looks (PTH-02, PTH-03), and it sets no setuid, setgid or sticky bit (PTH-08).
package paths

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// A Tree is what a program of a cell sees, and who the program is.
type Tree struct {
	Root *os.File // of its mount namespace
	Base int      // the host id of user and group 0 of the cell
	UID  int      // the program's, in the cell
	GID  int
	Owns bool // the program is user 0 of a namespace without other users
}

// do calls f with the program's rights.
func (t *Tree) do(f func() error) error { return linux.WithRightsOf(t.Base+t.UID, t.Base+t.GID, f) }

// kernelFiles are file systems whose files are the kernel's. What they contain depends on the process
// that looks: /proc/sys/kernel/hostname would be the agent's.
var kernelFiles = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC,
	unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC, unix.NSFS_MAGIC, unix.SELINUX_MAGIC,
	unix.BINFMTFS_MAGIC, unix.PID_FS_MAGIC, unix.SOCKFS_MAGIC, unix.ANON_INODE_FS_MAGIC,
}

// errKernelFile is the error for what is in one of them.
var errKernelFile = errors.New("a file of the kernel")

// lookup opens a path as a mere handle, which needs no right to the file itself and has no effect on it.
func (t *Tree) lookup(name string, flags uint64) (*os.File, error) {
	f, err := linux.OpenInRoot(t.Root, name, unix.O_PATH|flags, 0)
	if err != nil {
		return nil, err
	}
	if err := checkFileSystem(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func checkFileSystem(f *os.File) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(linux.FD(f), &fs); err != nil {
		return os.NewSyscallError("fstatfs", err)
	}
	if slices.Contains(kernelFiles, int64(fs.Type)) { //nolint:unconvert // 32 bits on some architectures
		return errKernelFile
	}
	return nil
}

// parent opens the directory of a path, and returns the name in it.
func (t *Tree) parent(name string) (dir *os.File, base string, err error) {
	base = path.Base(name)
	if base == "/" {
		return nil, "", api.Refuse(api.CodeFileDenied, "/ is the root of the session: name something in it")
	}
	dir, err = t.lookup(path.Dir(name), unix.O_DIRECTORY)
	return dir, base, err
}

// reopen opens what a handle refers to. It never blocks: only regular files and directories are opened,
// and a lease, which a program may have on its own files, is an error (EAGAIN).
func reopen(f *os.File, flags int) (*os.File, error) {
	n, err := unix.Open(ProcFD(f), flags|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	return os.NewFile(uintptr(n), f.Name()), nil
}

// ProcFD is the name by which this process finds one of its own descriptors.
func ProcFD(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", linux.FD(f)) }

func fstat(f *os.File) (st unix.Stat_t, err error) {
	err = os.NewSyscallError("fstat", unix.Fstat(linux.FD(f), &st))
	return st, err
}
