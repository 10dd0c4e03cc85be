// Making children on demand: cellinit makes shells, and the shell of a session one
// for each exec.
//
// The shells of runs share cellinit's memory, and each has its own part of it. A copy would cost more
// than all else that a shell does: page tables are made, pages copied at the first write, and all of it
// taken down after one run (docs/reports/performance.md). No process below executes any code but this program's
// in that memory, and no program can reach it: it is not dumpable, and exec replaces it (NS-19).
#include "sys.h"
#include "decode.h"

// The agent destroys a used shell before it asks for the second one after it (runtime/pool/keeper.go).
enum { MAX_SHELLS = 3 };

static struct shell shells[MAX_SHELLS];

// unused finds the part of a shell that has ended. The kernel clears the two words when a process stops
// using the memory (CLONE_CHILD_CLEARTID; kernel/fork.c, mm_release). A shell that was killed may have
// left there what a caller sent.
static struct shell *unused(void)
{
	struct shell *found = 0;
	for (int i = 0; i < MAX_SHELLS; i++) {
		struct shell *s = &shells[i];
		if (s->alive || s->starting)
			continue;
		if (((struct start *)s->strings)->magic)
			forget(s);
		found = found ? found : s;
	}
	return found;
}

// raise_peak makes the most memory that this process ever had larger than it and the shells can have
// later. A program's ru_maxrss begins with that of the memory in which it was cloned (fs/exec.c,
// exec_mmap), which would otherwise grow with the arguments of earlier runs (RES-27). Half a MiB is for
// the kernel's count, which is approximate and has the arguments of an execve in it.
long raise_peak(void)
{
	u64 size = sizeof shells + (512 << 10);
	long at = MMAP(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);
	if (at < 0 && at > -4096)
		return at;
	return SYS(munmap, at, size); // the kernel notes the peak here
}

// clone_calling makes a process that calls a function, which does not return, on the stack in args.
__attribute__((noinline)) long clone_calling(struct clone_args *args, void (*function)(void *), void *argument)
{
	long ret;
	register long mark __asm__("r9") = SETUP_MARK;
	register void (*call)(void *) __asm__("r12") = function;
	register void *with __asm__("r13") = argument;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "and $-16, %%rsp\n\t"
			 "mov %%r13, %%rdi\n\t"
			 "call *%%r12\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(ret)
			 : "a"((long)__NR_clone3), "D"(args), "S"(sizeof *args), "r"(mark), "r"(call), "r"(with)
			 : "rcx", "r11", "memory");
	return ret;
}

// spawn makes one child, in the new namespaces that spaces lists, and sends its pidfd to the agent. A
// session has any number of shells at a time: its shell, and those of its execs, have copies of the
// memory.
static void spawn(int sock, u64 spaces, const struct spawn *m, const int *fds)
{
	s32 pidfd = -1;
	struct clone_args args = {0};
	args.flags = spaces | CLONE_PIDFD;
	args.pidfd = (u64)&pidfd;
	args.exit_signal = SIGCHLD;
	struct shell *s = unused();
	long pid = -EAGAIN;
	if (s) {
		s->parent = sock;
		memcpy(s->fds, fds, sizeof s->fds);
		s->flags = m->flags;
		s->joins = m->joins;
		s->has_cgroup = m->has_cgroup;
		s->clock = m->clock;
		if (!(m->flags & (SPAWN_SESSION | SPAWN_EXEC))) {
			args.flags |= CLONE_VM | CLONE_CHILD_CLEARTID;
			args.child_tid = (u64)&s->alive;
			args.stack = (u64)s->stack;
			args.stack_size = sizeof s->stack;
			s->alive = 1;
		}
		pid = clone_calling(&args, shell_main, s);
		if (pid < 0)
			s->alive = 0;
	}
	struct reply r = {WIRE_MAGIC, KIND_SPAWNED, 0, 0, (s32)pid, 0, 0, 0, 0, 0, 0};
	if (pid < 0) {
		r.kind = KIND_FAILED;
		r.step = STEP_CLONE;
		r.err = (s32)-pid;
	}
	send_reply(sock, &r, pidfd);
	if (pidfd >= 0)
		SYS(close, pidfd);
}

// serve makes children until the agent's end of the socket closes. Then it exits, and with it the
// kernel ends everything in the pid namespace. A process that makes namespaces (cellinit) makes no
// exec, which would run in the cell's own namespaces, and the other way round.
__attribute__((noreturn)) void serve(int sock, u64 spaces)
{
	// The kernel reaps dead children; a child sets its own signals.
	struct action ignore = {(void *)1, 0, 0, 0};
	SYS(rt_sigaction, SIGCHLD, &ignore, 0, 8);
	for (;;) {
		struct spawn m;
		int fds[FD_FIXED + MAX_JOINS], n;
		long len = recv_message(sock, &m, sizeof m, fds, FD_FIXED + MAX_JOINS, &n);
		if (len == 0)
			SYS(exit_group, 0); // the agent is gone
		if (!spawn_valid(&m, len, n) || !(m.flags & SPAWN_EXEC) != (spaces != 0))
			fail(sock, STEP_DECODE, len < 0 ? len : -EINVAL);
		spawn(sock, spaces | (m.flags & SPAWN_NETWORK ? CLONE_NEWNET : 0), &m, fds);
		for (int i = 0; i < n; i++)
			SYS(close, fds[i]);
	}
}
