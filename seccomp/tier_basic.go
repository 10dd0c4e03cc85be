package seccomp

import (
	"slices"
	"syscall"
)

// Values of arguments that rules compare; include/uapi/linux unless said.
const (
	// clone(2) flags, sched.h. threadClone is a thread of its own process: VM FS
	// FILES SIGHAND THREAD. threadFree are additional bits, which the C libraries
	// and Go's runtime set or not, depending on version and machine. They say
	// where the kernel stores the thread's id and pointer: SYSVSEM SETTLS
	// PARENT_SETTID CHILD_CLEARTID DETACHED.
	threadClone = 0x10f00
	threadFree  = 0x7c0000

	// forkClone is SIGCHLD alone, a copy of the process; forkFree are CHILD_CLEARTID
	// and CHILD_SETTID. vforkClone is VM, VFORK and SIGCHLD, which posix_spawn,
	// system and popen pass.
	forkClone  = 0x11
	forkFree   = 0x1200000
	vforkClone = 0x4111

	// prctl(2) options, prctl.h.
	prSetName = 15
	prGetName = 16

	// Resources of limits, asm-generic/resource.h.
	rlimitCPU, rlimitFileSize, rlimitData, rlimitStack   = 0, 1, 2, 3
	rlimitProcesses, rlimitOpenFiles, rlimitAddressSpace = 6, 7, 9

	fcntlSetFlags = 4 // F_SETFL, fcntl.h

	// directBits are the bits of open's flags that must be 0: O_DIRECT, whose value depends
	// on the architecture, and those above an int.
	directBits = syscall.O_DIRECT | 0xffffffff<<32

	runID = 1000 // user and group of every run, in its own user namespace

	// Clocks, time.h.
	clockRealtime  = 0
	clockMonotonic = 1
)

// basicRules returns the rules of every tier: what a computing program needs.
func basicRules() []Rule {
	opened := "opening files by path; no O_DIRECT, which reads an image from the disk as fast as the disk can, " +
		"bypassing the memory that holds it, while all others wait"
	return slices.Concat([]Rule{
		plain(Allow(), "bytes through descriptors the program was given or opened",
			"read write readv writev pread64 pwrite64 preadv pwritev lseek close"),
		plain(Allow(), "metadata of files by path; mounts decide which files exist, never filters on paths and "+
			"flags: they miss creat, openat2 and O_CREAT with O_RDONLY",
			"fstat stat lstat newfstatat statx access faccessat2 readlink readlinkat getcwd"),
		when("open", opened, masked(1, directBits, 0)),
		when("openat", opened, masked(2, directBits, 0)),
		plain(Allow(), "copies of its own descriptors", "dup dup2 dup3"),
		plain(Allow(), "waiting for descriptors", "poll ppoll select pselect6"),
		plain(Allow(), "its own memory; the group's limit bounds it", "mmap munmap mremap mprotect brk msync"),
		plain(Allow(), "threads and their locks", "set_robust_list get_robust_list set_tid_address"),
		plain(Allow(), "reading its own limits and the machine's names", "getrusage times uname sysinfo"),
		plain(Allow(), "its own signal handlers and masks",
			"rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack restart_syscall pause"),
		plain(Allow(), "raise and abort; the target cannot be filtered usefully, the pid namespace bounds it",
			"tgkill tkill"),
		plain(Allow(), "reading its own identity",
			"getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp getpgid getsid"),
		plain(Allow(), "random numbers, clocks to read, sleeping",
			"getrandom clock_gettime clock_getres gettimeofday time nanosleep"),
		plain(Allow(), "scheduling that concerns only itself", "sched_yield sched_getaffinity getcpu"),
		plain(Allow(), "starting and ending: the run itself is started by execve below this filter",
			"exit exit_group execve"),
	},
		anyOf("clock_nanosleep", 0,
			"sleeping by the clocks that every program reads; sleeping by a processor clock arms one of the kernel's "+
				"processor timers (CVE-2025-38352)",
			clockRealtime, clockMonotonic),
		anyOf("futex", 1, "locks of threads: WAIT and WAKE; WAIT_BITSET, by either clock, and for the end of a "+
			"thread; REQUEUE of musl's condition variables. No priority inheritance (CVE-2014-3153, CVE-2021-3347)",
			0x80, 0x81, 0x83, 0x89, 0x109, 0x189),
		[]Rule{plain(Fail(ENOSYS),
			"no other operation: the answer of a kernel without priority inheritance, which C libraries report as ENOTSUP",
			"futex")},
		anyOf("madvise", 2, "hints about its own memory: NORMAL RANDOM SEQUENTIAL DONTNEED FREE HUGEPAGE NOHUGEPAGE",
			0, 1, 2, 4, 8, 14, 15),
		[]Rule{plain(Fail(EINVAL),
			"no other advice; this is the answer of a kernel without it: HWPOISON and SOFT_OFFLINE break the host's "+
				"pages, MERGEABLE is a side channel, PAGEOUT, COLD, COLLAPSE and REMOVE act on pages that other "+
				"sandboxes read", "madvise")},
		[]Rule{plain(Fail(ENOTTY),
			"the answer of a file that is not a terminal. Every other request belongs to a device or a file system: "+
				"TIOCSTI and TIOCLINUX type into terminals (CVE-2019-10063), FICLONE writes shared pages", "ioctl")},
		anyOf("fcntl", 1, "descriptors and their flags: DUPFD GETFD SETFD GETFL DUPFD_CLOEXEC; no leases, owners or "+
			"notifications, which reach other sandboxes through shared files",
			0, 1, 2, 3, 1030),
		[]Rule{when("fcntl", "flags of its own open files: SETFL; no O_DIRECT, as for open", eq(1, fcntlSetFlags),
			masked(2, directBits, 0))},
		anyOf("prctl", 0, "names of threads; not seccomp, memory maps, tracers, dumps, core scheduling, speculation, "+
			"or names of memory, which no group is charged for",
			prSetName, prGetName),
		[]Rule{
			when("sched_setscheduler",
				"the ordinary policy, which every thread has already: the C library sets it again where a thread's "+
					"scheduling is specified, as Free Pascal does, and creates no thread if that fails", eq(1, 0)),
			when("setuid setgid",
				"the user and group it has already: programs that give up privileges at their start, as busybox "+
					"does, continue without a refusal", eq(0, runID)),
			when("clone", "threads of its own process; no handles of processes, no tracing, no other parent",
				masked(0, ^uint64(threadFree), threadClone)),
		},
		anyOf("arch_prctl", 0, "the thread pointer on amd64: SET_FS", 0x1002),
	)
}

// strictRules are added to the basic rules for the strict tier.
func strictRules() []Rule {
	return []Rule{
		when("prlimit64", "reading its own limits; comparing a pointer with NULL is safe", eq(0, 0), eq(2, 0)),
		when("prlimit64", "the stack's soft limit of its own process", eq(0, 0), eq(1, rlimitStack)),
	}
}
