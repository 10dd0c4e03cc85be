package seccomp

import "slices"

const (
	// openFlags are the flag bits in socketpair's second argument, next to the type:
	// SOCK_CLOEXEC and SOCK_NONBLOCK, and the flags of pipe2: O_CLOEXEC and O_NONBLOCK.
	// They are the same on amd64 and arm64.
	openFlags = 0x80800

	// sendFlags are flags of messages: PEEK TRUNC DONTWAIT WAITALL NOSIGNAL MORE.
	sendFlags = 0xc162

	// badSendFlags are MSG_OOB and MSG_ZEROCOPY.
	badSendFlags = 0x4000001

	typeFifo                  = 0x1000 // S_IFIFO of stat.h
	afUnix                    = 1      // this and the following: socket.h
	sockStream, sockSeqpacket = 1, 5
	solSocket                 = 1 // level of a socket's generic options

	// Commands of membarrier(2), linux/membarrier.h.
	membarrierQuery                    = 0
	membarrierPrivateExpedited         = 1 << 3
	membarrierRegisterPrivateExpedited = 1 << 4
)

// processRules are added to the basic rules for the default tier: processes, files to
// write, event loops, pairs of unix sockets.
func processRules() []Rule {
	pair := "pairs of unix sockets between a program's own processes (multiprocessing, Node); no other family, so no " +
		"network and no AF_ALG (CVE-2026-31431); no datagrams, whose senders name any abstract socket (NS-06)"
	fifo := "named pipes; nothing but a fifo"
	return slices.Concat([]Rule{
		plain(Allow(), "older and newer names of what every tier allows", "creat faccessat getrlimit"),
		plain(Allow(), "directories of its own scratch space",
			"getdents64 chdir fchdir unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir symlink symlinkat"),
		plain(Allow(), "sem_open of the C library, and so locks and pools of Python's multiprocessing; links stay "+
			"within the scratch", "link linkat"),
		plain(Allow(), "sizes, modes and times of its own files; nosuid and the inode limit bound them",
			"ftruncate truncate fsync fdatasync umask chmod fchmod fchmodat utimensat utime statfs fstatfs"),
		when("fallocate", "space for its own files; no holes, no moved ranges", eq(1, 0)),
		plain(Allow(), "pipes", "pipe"),
		when("mknod", fifo, masked(1, ^uint64(0o777), typeFifo)),
		when("mknodat", fifo, masked(2, ^uint64(0o777), typeFifo)),
		when("pipe2", "pipes; not O_NOTIFICATION_PIPE, which makes the kernel's watch queue (CVE-2022-0995)",
			masked(1, ^uint64(openFlags), 0)),
		plain(Allow(), "its own processes; the pids limit bounds them", "fork vfork wait4 setpgid setsid"),
		plain(Allow(), "signals to its own processes; the target cannot be filtered usefully, the pid namespace bounds it",
			"kill rt_sigqueueinfo"),
		plain(Allow(), "event loops", "epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2 signalfd4"),
		plain(Allow(), "timers",
			"timerfd_settime timerfd_gettime timer_settime timer_gettime timer_getoverrun timer_delete setitimer getitimer alarm"),
		plain(Allow(), "querying connected sockets and closing them", "shutdown getsockname getpeername"),
		plain(Allow(), "reading its own scheduling",
			"sched_get_priority_max sched_get_priority_min sched_getparam sched_getscheduler getpriority"),
		when("clone", "processes: fork", masked(0, ^uint64(forkFree), forkClone)),
		when("clone", "processes: posix_spawn, system and popen", eq(0, vforkClone)),
		when("prlimit64", "reading its own limits", eq(0, 0), eq(2, 0)),
		when("socketpair", pair, eq(0, afUnix), masked(1, ^uint64(openFlags), sockStream)),
		when("sendto recvfrom", "messages on socket pairs; no MSG_OOB (CVE-2025-38236), no MSG_ZEROCOPY",
			masked(3, ^uint64(sendFlags), 0)),
		when("memfd_create", "anonymous files with CLOEXEC and ALLOW_SEALING; no huge pages", masked(1, ^uint64(3), 0)),
	},
		ownLimits(),
		anyOf("waitid", 0, "waiting for its own processes: ALL PID PGID; no handles", 0, 1, 2),
		anyOf("timerfd_create", 0, "timers of the clocks that every program reads; no alarm clocks",
			clockRealtime, clockMonotonic),
		anyOf("timer_create", 0, "timers of the clocks that every program reads; not of processor clocks (CVE-2025-38352)",
			clockRealtime, clockMonotonic),
		anyOf("fadvise64", 3, "hints about reading a file: NORMAL RANDOM SEQUENTIAL WILLNEED NOREUSE", 0, 1, 2, 3, 5),
		[]Rule{plain(Fail(EINVAL),
			"not DONTNEED, which evicts pages of the image from the cache that all sandboxes share: pages that a "+
				"neighbour is charged for, and a channel", "fadvise64")},
		anyOf("ioctl", 1, "the number of bytes to read, and non-blocking reads: FIONREAD FIONBIO", 0x541b, 0x5421),
		anyOf("futex", 1, "locks of processes that share memory: WAIT and WAKE", 0, 1),
		anyOf("madvise", 2, "WILLNEED, for files in memory", 3),
		anyOf("fcntl", 1, "seals on its own anonymous files: ADD_SEALS GET_SEALS", 1033, 1034),
		socketOptions("getsockopt", "TYPE ERROR SNDBUF RCVBUF PEERCRED PROTOCOL", 3, 4, 7, 8, 17, 38),
		socketOptions("setsockopt", "SNDBUF RCVBUF RCVTIMEO SNDTIMEO", 7, 8, 20, 21),
	)
}

// ownLimits allows programs to lower the limits that shells and runtimes lower. The core
// limit is not among them. The kernel starts the helper of core_pattern, which runs as the
// host's root, for a process whose core limit is 0, but not if it is exactly 1, as in a run
// (PRC-09).
func ownLimits() []Rule {
	var out []Rule
	for _, resource := range []uint64{rlimitCPU, rlimitFileSize, rlimitData, rlimitStack, rlimitProcesses,
		rlimitOpenFiles, rlimitAddressSpace} {
		out = append(out, when("prlimit64",
			"its own limits CPU FSIZE DATA STACK NPROC NOFILE AS; raising needs a capability; not CORE, which at 0 "+
				"starts the host's core helper", eq(0, 0), eq(1, resource)))
	}
	return out
}

// socketOptions allows a call for generic options of a socket.
func socketOptions(call, names string, options ...uint64) []Rule {
	why := "generic socket options: " + names +
		"; none that loads a filter, whose machine code no group is charged for, creates handles of processes or " +
		"sets timestamps; TCP_ULP and the netfilter options opened 11 of 100 published exploits"
	var out []Rule
	for _, o := range options {
		out = append(out, when(call, why, eq(1, solSocket), eq(2, o)))
	}
	return out
}

// recordLocks are part of all tiers except strict.
func recordLocks() []Rule {
	return counted(anyOf("fcntl", 1,
		"record locks, which databases, package caches and build tools need: GETLK SETLK SETLKW; the agent counts "+
			"them, because no group is charged for them", 5, 6, 7))
}

// lockRules are part of the tiers default, managed and compile.
func lockRules() []Rule {
	return slices.Concat(
		recordLocks(),
		[]Rule{plain(Count(), "whole-file locks, which PHP's LOCK_EX, package managers and shell scripts need; the "+
			"agent counts them, because no group is charged for them", "flock")},
	)
}

// counted makes the agent count the calls of rules.
func counted(rules []Rule) []Rule {
	for i := range rules {
		rules[i].Answer = Count()
	}
	return rules
}

// managedRules are added to the default rules for the managed tier.
func managedRules() []Rule {
	return slices.Concat([]Rule{
		when("recvmsg", "messages on socket pairs: Node's processes read from each other with it; no program can "+
			"send descriptors, and there is no MSG_OOB (CVE-2025-38236)", masked(2, badSendFlags, 0)),
		when("sched_setaffinity",
			"the caller's own thread, as .NET's garbage collector sets each of its threads: the kernel keeps it "+
				"within the run's cpuset, and the run's share and quota are the same on one processor (CPU-16); no "+
				"other thread, so no other process", eq(0, 0)),
	},
		anyOf("membarrier", 0,
			"barriers among the program's own threads, without which .NET does not start: QUERY, PRIVATE_EXPEDITED "+
				"and its registration; they interrupt processors that run this program, and no others (CPU-17); not "+
				"GLOBAL, which waits for or interrupts all processors of the host",
			membarrierQuery, membarrierPrivateExpedited, membarrierRegisterPrivateExpedited),
		[]Rule{plain(Fail(ENOSYS),
			"no other barrier: the answer of a kernel without them, as in the other tiers", "membarrier")},
	)
}

// compileRules are added to the default rules for the compile tier.
func compileRules() []Rule {
	return []Rule{
		when("socketpair", "pairs of unix sockets for packets, on which rustc's child processes report that they "+
			"could not start", eq(0, afUnix), masked(1, ^uint64(openFlags), sockSeqpacket)),
	}
}
