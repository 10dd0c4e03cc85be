// System calls and the few library functions a freestanding program lacks.
#ifndef BRIG_SYS_H
#define BRIG_SYS_H

#include <asm/unistd.h>
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <linux/seccomp.h>
#include <linux/stat.h>
#include <linux/time_types.h>
#include "wire.h"

#ifndef __x86_64__
#error "cellinit is written for x86_64; another architecture needs its own system call and entry stubs"
#endif

static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define TIOCSCTTY 0x540e // make a terminal the controlling one of the session (ioctl_tty(2))

// A call with at most five arguments has a mark as its sixth argument. By the mark the filters
// distinguish calls of cellinit and the shells from the program's (seccomp/shell.go, SetupMark).
#define SETUP_MARK 0x62726967a5e70c11
#define SYS(n, ...) SYS_(n, ##__VA_ARGS__, 0, 0, 0, 0, 0)
#define SYS_(n, a, b, c, d, e, ...) \
	sys6(__NR_##n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), SETUP_MARK)
#define MMAP(at, size, prot, flags, fd) sys6(__NR_mmap, (long)(at), (long)(size), prot, flags, fd, 0)

// The compiler may generate calls of these.
void *memset(void *p, int c, u64 n);
void *memcpy(void *to, const void *from, u64 n);

struct iovec { void *base; u64 len; };
struct msghdr {
	void *name; u32 namelen; u32 pad0;
	struct iovec *iov; u64 iovlen;
	void *control; u64 controllen;
	u32 flags; u32 pad1;
};
struct cmsg { u64 len; s32 level, type; s32 fds[16]; };
struct rusage {
	s64 user_sec, user_usec, sys_sec, sys_usec;
	s64 maxrss, rest[13];
};
struct action { void *handler; u64 flags; void *restorer, *mask; };
struct fprog { u16 len; struct insn *filter; };

enum { SOL_SOCKET = 1, SCM_RIGHTS = 1, MSG_NOSIGNAL = 0x4000, MSG_CMSG_CLOEXEC = 0x40000000, MSG_TRUNC = 0x20, MSG_CTRUNC = 8 };
enum { PROT_READ = 1, PROT_WRITE = 2, MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_ANONYMOUS = 0x20, MAP_POPULATE = 0x8000, PAGE = 4096, WNOHANG = 1, WALL = 0x40000000 };
enum { SIGKILL = 9, SIGCHLD = 17, LAST_SIGNAL = 64, SIG_SETMASK = 2 };

// msg.c
int send_reply(int sock, const struct reply *r, int fd);
__attribute__((noreturn)) void fail(int sock, u32 step, long err);
long recv_message(int sock, void *buf, u64 size, int *fds, int max, int *count);

// spawn.c
__attribute__((noreturn)) void serve(int sock, u64 spaces);
long raise_peak(void);
long clone_calling(struct clone_args *args, void (*function)(void *), void *argument);

// program.c
struct program {
	const struct start *start;
	const char *dir;  // in which it starts; empty: in that of the shell
	char *const *argv, *const *envp;
	const char *path; // value of PATH in envp, or 0
	int template;     // the file that is executed; -1: argv[0] names it
	int stdio[3];     // become its descriptors 0, 1 and 2
	const int *named; // become its descriptors from NAMED_FD on, start->named of them
	volatile u32 step; // written by the child, read by the shell: they share memory until exec
	volatile s32 err;
};
struct shell;
long program_start(struct shell *s);

// shell.c

// All that a shell and the process that becomes its program write to.
struct shell {
	volatile u32 alive;    // nonzero until the shell has ended
	volatile u32 starting; // nonzero until its child is the program, or has ended
	int parent;            // the socket of the process that made this shell
	int fds[FD_FIXED + MAX_JOINS];
	u32 flags, joins, has_cgroup, clock;
	struct program program;
	char *words[MAX_WORDS + 2];
	char strings[sizeof(struct start) + MAX_STRINGS] __attribute__((aligned(16)));
	char path[4096 + 256]; // of the program, while it is looked for
	char program_stack[16384] __attribute__((aligned(16)));
	char stack[16384] __attribute__((aligned(16)));
};

// What cellinit was told about all runs of its cell. The shells only read it, and cannot do otherwise:
// a fault in one of them must not change the user or the filter of the next run.
struct settings {
	struct insn last_filter[MAX_LAST];
	u32 last_len, uid, gid;
	s32 namespace;             // in which the program is user 0; -1: it is uid in the cell's
	volatile u64 *exec_clock; // shared with the agent: when each running program was executed
} __attribute__((aligned(PAGE)));
extern struct settings settings;
void shell_main(void *shell); // does not return
void forget(struct shell *s);

static inline u64 now(void)
{
	struct __kernel_timespec t = {0, 0};
	SYS(clock_gettime, 1 /* CLOCK_MONOTONIC */, &t);
	return (u64)t.tv_sec * 1000000000UL + (u64)t.tv_nsec;
}

#endif
