package seccomp

import "slices"

// Values of arguments that rules compare; include/uapi/linux unless said.
const (
	// clone(2) flags, sched.h. pthreadClone is what glibc's pthread_create
	// passes; musl adds CLONE_DETACHED, which has no effect since 2.6; Go's
	// runtime leaves out the two that store the thread id, and on arm64
	// CLONE_SETTLS too.
	pthreadClone = 0x3d0f00
	muslClone    = 0x7d0f00
	goClone      = 0x0d0f00
	goCloneArm   = 0x050f00
	namespaces   = 0x7e020000 // NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET

	// prctl(2) options, prctl.h.
	prSetPdeathsig  = 1
	prGetDumpable   = 3
	prSetDumpable   = 4
	prSetName       = 15
	prGetName       = 16
	prCapbsetRead   = 23
	prSetTimerslack = 29
	prGetTimerslack = 30
	prSetNoNewPrivs = 38
	prGetNoNewPrivs = 39
	prSetTHPDisable = 41
	prSetVMA        = 0x53564d41

	rlimitStack = 3 // asm-generic/resource.h
)

// basicRules hold in every tier: what a computing program needs.
func basicRules() []Rule {
	return slices.Concat([]Rule{
		plain(Allow(), "bytes through descriptors the program was given or opened",
			"read write readv writev pread64 pwrite64 preadv pwritev lseek close close_range"),
		plain(Allow(), "looking at files by path; mounts decide what is there, path and flag filters never do: they miss creat, openat2 and O_CREAT with O_RDONLY",
			"fstat stat lstat newfstatat statx access faccessat faccessat2 open openat readlink readlinkat getcwd"),
		plain(Allow(), "copies of its own descriptors", "dup dup2 dup3"),
		plain(Allow(), "waiting for descriptors", "poll ppoll select pselect6"),
		plain(Allow(), "its own memory; the group's limit bounds it", "mmap munmap mremap mprotect brk msync"),
		plain(Allow(), "threads and their locks", "futex set_robust_list get_robust_list rseq set_tid_address"),
		plain(Allow(), "reading its own limits and the machine's names", "getrlimit getrusage times uname sysinfo"),
		plain(Allow(), "signal handlers and masks of its own", "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack restart_syscall pause"),
		plain(Allow(), "raise and abort; the target cannot be filtered usefully, the pid namespace bounds it", "tgkill"),
		plain(Allow(), "reading its own identity", "getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp getpgid getsid"),
		plain(Allow(), "random numbers, clocks to read, sleeping", "getrandom clock_gettime clock_getres gettimeofday time nanosleep clock_nanosleep"),
		plain(Allow(), "scheduling that concerns only itself", "sched_yield sched_getaffinity getcpu membarrier"),
		plain(Allow(), "starting and ending: the run itself is started by execve below this filter", "exit exit_group execve"),
	},
		anyOf("madvise", 2, "hints about its own memory; not HWPOISON (100) and SOFT_OFFLINE (101), which break the host's pages, nor MERGEABLE (12): page merging is a side channel",
			0, 1, 2, 3, 4, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 102, 103),
		anyOf("ioctl", 1, "terminal probing and descriptor flags: TCGETS TIOCGWINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX",
			0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451),
		[]Rule{plain(Fail(ENOTTY), "every other request is a device's or a file system's: TIOCSTI and TIOCLINUX type into terminals (CVE-2019-10063), FICLONE writes shared pages", "ioctl")},
		anyOf("fcntl", 1, "descriptor flags and pipe sizes: DUPFD GETFD SETFD GETFL SETFL DUPFD_CLOEXEC SETPIPE_SZ GETPIPE_SZ; no leases, locks, owners or notifications, which reach other sandboxes through shared files",
			0, 1, 2, 3, 4, 1030, 1031, 1032),
		anyOf("prctl", 0, "names, parent-death signal, capability and privilege probes, huge pages; not seccomp, memory maps, tracers, core scheduling or speculation",
			prSetPdeathsig, prGetDumpable, prSetName, prGetName, prCapbsetRead, prGetNoNewPrivs, prSetTHPDisable, prSetVMA),
		[]Rule{
			when("sched_setscheduler", "the ordinary policy, which every thread has already: the C library asks for it again where a thread's scheduling is given, as Free Pascal's is, and makes no thread when that fails", eq(1, 0)),
			when("prctl", "dumpable off or on; 2 would be root's setting", eq(0, prSetDumpable), eq(1, 0)),
			when("prctl", "dumpable off or on; 2 would be root's setting", eq(0, prSetDumpable), eq(1, 1)),
			when("prctl", "no_new_privs only removes rights", eq(0, prSetNoNewPrivs), eq(1, 1)),
		},
		anyOf("arch_prctl", 0, "thread pointers and probes on amd64: SET_GS SET_FS GET_FS GET_GS GET_CPUID SHSTK_STATUS",
			0x1001, 0x1002, 0x1003, 0x1004, 0x1011, 0x5005),
	)
}

// strictRules make the strict tier of the basic rules.
func strictRules() []Rule {
	return slices.Concat(
		anyOf("clone", 0, "threads of one process, exactly as pthread_create (glibc, musl) and Go's runtime make them; no new processes",
			pthreadClone, muslClone, goClone, goCloneArm),
		[]Rule{
			when("prlimit64", "reading its own limits; comparing a pointer with NULL is safe", eq(0, 0), eq(2, 0)),
			when("prlimit64", "the stack's soft limit of its own process", eq(0, 0), eq(1, rlimitStack)),
		},
	)
}
