package seccomp

import "slices"

// unixFlags are the bits beside the type in socketpair's second argument:
// SOCK_CLOEXEC and SOCK_NONBLOCK.
const unixFlags = 0x80800

// badSendFlags are MSG_OOB and MSG_ZEROCOPY.
const badSendFlags = 0x4000001

// processRules make the default tier of the basic rules: processes, files to
// write, event loops, pairs of unix sockets.
func processRules() []Rule {
	pair := "pairs of unix sockets between a program's own processes (multiprocessing, Node); no other family, so no network and no AF_ALG (CVE-2026-31431); no datagrams, whose senders name any abstract socket (NS-06)"
	send := "messages on socket pairs; no MSG_OOB (CVE-2025-38236), no MSG_ZEROCOPY"
	opts := "generic socket options only: TCP_ULP and the netfilter options opened 11 of 100 published exploits"
	return slices.Concat([]Rule{
		plain(Allow(), "directories of its own scratch space", "getdents getdents64 chdir fchdir unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir symlink symlinkat"),
		plain(Allow(), "sem_open of the C library, and so locks and pools of Python's multiprocessing; links stay within the scratch", "link linkat"),
		plain(Allow(), "sizes, modes and times of its own files; nosuid and the inode limit bound them", "ftruncate truncate fallocate fsync fdatasync umask chmod fchmod fchmodat fchmodat2 utimensat fadvise64 statfs fstatfs openat2"),
		plain(Allow(), "pipes", "pipe pipe2"),
		plain(Allow(), "processes of its own; the pids limit bounds them", "fork vfork wait4 waitid setpgid setsid execveat"),
		plain(Allow(), "signals to its own processes; the target cannot be filtered usefully, the pid namespace bounds it", "kill tkill rt_sigqueueinfo rt_tgsigqueueinfo"),
		plain(Allow(), "event loops", "epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 signalfd4"),
		plain(Allow(), "timers", "timerfd_create timerfd_settime timerfd_gettime timer_create timer_settime timer_gettime timer_getoverrun timer_delete setitimer getitimer alarm"),
		plain(Allow(), "asking about connected sockets and closing them", "shutdown getsockname getpeername"),
		plain(Allow(), "reading its own scheduling and capabilities", "sched_get_priority_max sched_get_priority_min sched_getparam sched_getscheduler getpriority capget"),
		when("clone", "processes and threads, but no namespaces: 67 of 100 published exploits need a user namespace. CLONE_NEWTIME lies in the exit-signal byte and works through clone3 and unshare only, both refused", masked(0, namespaces, 0)),
		when("prlimit64", "its own limits; lowering is harmless, raising needs a capability", eq(0, 0)),
		when("socketpair", pair, eq(0, 1), masked(1, ^uint64(unixFlags), 1)),
		when("socketpair", pair, eq(0, 1), masked(1, ^uint64(unixFlags), 5)),
		when("sendto recvfrom", send, masked(3, badSendFlags, 0)),
		when("sendmsg recvmsg", send, masked(2, badSendFlags, 0)),
		when("getsockopt setsockopt", opts, eq(1, 1)),
		when("memfd_create", "anonymous files with CLOEXEC, ALLOW_SEALING, NOEXEC_SEAL; no huge pages", masked(1, ^uint64(0xb), 0)),
	},
		anyOf("fcntl", 1, "seals on its own anonymous files: ADD_SEALS GET_SEALS", 1033, 1034),
		anyOf("personality", 0, "the values libraries ask for, as container engines allow: query, Linux, 32-bit Linux, uname 2.6; READ_IMPLIES_EXEC is none of them",
			0, 8, 0x20000, 0x20008, 0xffffffff),
	)
}

// lockRules are shared by the managed and the compile tier.
func lockRules() []Rule {
	return slices.Concat(
		anyOf("fcntl", 1, "record locks, which package caches and build tools need: GETLK SETLK SETLKW", 5, 6, 7),
		[]Rule{plain(Allow(), "whole-file locks and processor binding, which runtimes and build tools need", "flock sched_setaffinity")},
	)
}

// managedRules make the managed tier of the default rules.
func managedRules() []Rule {
	fifo := "the runtime's diagnostic fifo, mode 0600 or 0700; nothing but a fifo"
	return slices.Concat([]Rule{
		plain(Allow(), "locked memory for garbage collectors; RLIMIT_MEMLOCK bounds it", "mlock mlock2 munlock"),
		plain(Allow(), "the layout of memory nodes", "get_mempolicy"),
		plain(Allow(), "protection keys of its own memory", "pkey_alloc pkey_free pkey_mprotect"),
		plain(Allow(), "watching files, which these runtimes do at start", "inotify_init1 inotify_add_watch inotify_rm_watch"),
		plain(Allow(), "waiting for several locks", "futex_waitv"),
		plain(Allow(), "handles of its own processes; the pid namespace bounds them", "pidfd_open pidfd_send_signal"),
	},
		anyOf("sched_setscheduler", 1, "the policies that give way, BATCH and IDLE; never real-time", 3, 5),
		anyOf("mknod", 1, fifo, 0x1180, 0x11c0),
		anyOf("mknodat", 2, fifo, 0x1180, 0x11c0),
		anyOf("prctl", 0, "timer slack", prSetTimerslack, prGetTimerslack),
	)
}

// compileRules make the compile tier of the default rules.
func compileRules() []Rule {
	return []Rule{
		plain(Allow(), "copying outputs; the page-cache bugs behind these calls are met by running compilers in a box of their own", "copy_file_range sendfile"),
		plain(Allow(), "compiler drivers set the ids they already have", "setresuid setresgid"),
		plain(Allow(), "time stamps for build tools", "utimes utime"),
	}
}
