package calls

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// The files of an image are shared by all cells that use it. A process that closes such a file goes
// through all locks of the file, under a lock of the kernel (fs/locks.c, locks_remove_posix), and
// each exec closes some libraries. So 20,000 locks of one run on libc.so.6 double the processor
// time of a neighbour's execs (CPU-44). A run or session holds at most maxShared locks on such
// files. The file is looked up for a random sample of calls, and for all calls once a shared one
// was found, because the look-up takes as long as the rest of the answer. Another thread can change
// the descriptor after that, so the scans count those locks as well. A lock made by such a race on
// a file that is then mapped and closed is not seen.
//
// The template that a run began from is a memfd which all its runs share, and each of them closes a
// descriptor of it (TPL-10). Its owner is root, as of each memfd that the agent made; those of programs
// belong to the ids of their slot.

// OwnFiles are the file systems whose files no other cell has. Nil: all are. On that of memfds these are
// the files that root does not own.
type OwnFiles []ownDevice

type ownDevice struct {
	dev   uint64
	name  []byte // as in a line of a lock in /proc/PID/fdinfo
	memfd bool
}

// OwnFilesOf returns the file systems that the files lie on, and that of memfds.
func OwnFilesOf(files ...*os.File) (own OwnFiles, err error) {
	dev, err := memfdDevice()
	if err != nil {
		return nil, err
	}

	own = OwnFiles{newOwnDevice(dev)}
	own[0].memfd = true
	for _, f := range files {
		var st unix.Stat_t
		if err := unix.Fstat(linux.FD(f), &st); err != nil {
			return nil, os.NewSyscallError("fstat", err)
		}
		own = append(own, newOwnDevice(st.Dev))
	}

	return own, nil
}

func newOwnDevice(dev uint64) ownDevice {
	return ownDevice{dev: dev, name: fmt.Appendf(nil, " %02x:%02x:", unix.Major(dev), unix.Minor(dev))} // fs/locks.c, lock_get_status
}

// memfdDevice returns the device of the kernel's internal tmpfs, which holds memfds.
var memfdDevice = sync.OnceValues(func() (uint64, error) {
	n, err := unix.MemfdCreate("device", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, os.NewSyscallError("memfd_create", err)
	}
	defer unix.Close(n)
	var st unix.Stat_t
	err = unix.Fstat(n, &st)
	return st.Dev, os.NewSyscallError("fstat", err)
})

// line reports whether a lock line names a file of the run's own. descriptor is the path in /proc/PID/fd of
// the descriptor whose line it is. If another thread has put another file there, the file counts as shared.
func (own OwnFiles) line(line []byte, descriptor string) bool {
	for _, d := range own {
		_, rest, found := bytes.Cut(line, d.name)
		if !found {
			continue
		}
		if !d.memfd {
			return true
		}
		inode, _, _ := bytes.Cut(rest, []byte(" "))
		var st unix.Stat_t
		return unix.Stat(descriptor, &st) == nil && d.has(&st) && string(inode) == strconv.FormatUint(st.Ino, 10)
	}

	return own == nil
}

// has reports whether a file of the device is the run's own.
func (d ownDevice) has(st *unix.Stat_t) bool { return st.Dev == d.dev && (!d.memfd || st.Uid != 0) }

// Locks reports whether the descriptor in the first argument of a call is of a file that other
// cells have. A closed descriptor is of none.
func (own OwnFiles) Locks(n linux.SeccompNotif) (shared bool) {
	if own == nil {
		return false
	}
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", n.Pid, uint32(n.Args[0])), &st); err != nil {
		return false
	}
	return !slices.ContainsFunc(own, func(d ownDevice) bool { return d.has(&st) })
}
