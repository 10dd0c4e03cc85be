package archive

import (
	"fmt"
	goruntime "runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childCalls are the system calls that the admission child may make: those that the Go runtime
// (and, in a cgo build, glibc's threads) needs to read one stream and write another. Any other call
// kills the process. This list is not a profile for programs; those are in package seccomp.
var childCalls = []uint32{
	// The two streams.
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_FCNTL, unix.SYS_PREAD64,
	// Memory.
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_BRK,
	unix.SYS_MINCORE,
	// Threads and their signals. clone is further restricted below.
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
	unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_TGKILL, unix.SYS_TKILL, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_RESTART_SYSCALL,
	// Time and randomness.
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM,
	// The runtime's poller.
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
}

// Offsets in struct seccomp_data (linux/seccomp.h). dataArg0 is the low half of the argument,
// because both supported architectures are little-endian.
const (
	dataNumber = 0
	dataArch   = 4
	dataArg0   = 16
)

// childFilter returns the BPF program of the filter. It kills the process on a foreign architecture
// or an unlisted number. It refuses clone3, so that libc falls back to clone, because a filter can
// check the flags of clone. It allows clone only for threads.
func childFilter() []unix.SockFilter {
	load := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	ret := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	equal := func(k uint32, jt, jf uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: jt, Jf: jf, K: k}
	}
	f := []unix.SockFilter{
		load(dataArch),
		equal(auditArch, 1, 0),
		ret(unix.SECCOMP_RET_KILL_PROCESS),
		load(dataNumber),
	}

	for _, nr := range childCalls {
		f = append(f, equal(nr, 0, 1), ret(unix.SECCOMP_RET_ALLOW))
	}

	const errno = unix.SECCOMP_RET_ERRNO
	return append(f,
		equal(unix.SYS_CLONE3, 0, 1), ret(errno|uint32(unix.ENOSYS)),
		// The runtime names its mappings with prctl(PR_SET_VMA), but works without it.
		equal(unix.SYS_PRCTL, 0, 1), ret(errno|uint32(unix.EINVAL)),
		equal(unix.SYS_CLONE, 1, 0), ret(unix.SECCOMP_RET_KILL_PROCESS),
		load(dataArg0),
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: unix.CLONE_THREAD},
		ret(unix.SECCOMP_RET_ALLOW),
		ret(unix.SECCOMP_RET_KILL_PROCESS),
	)
}

// loadFilter sets no_new_privs and loads the filter for every thread of the process
// (SECCOMP_FILTER_FLAG_TSYNC, Linux 3.17).
func loadFilter(f []unix.SockFilter) error {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()

	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}

	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	goruntime.KeepAlive(f)
	if errno != 0 {
		return fmt.Errorf("load filter: %w", errno)
	}
	return nil
}
