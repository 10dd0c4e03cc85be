// A shell: PID 1 of one run's pid namespace, made ahead and used once.
//
// When it parks, the run's environment is complete: its own /proc, and /box, /tmp and /dev/shm on
// one scratch file system that no other run has. It then waits for the one message that says what
// to run.
//
// The shell of a session is PID 1 of an environment that many programs use, one after the other or
// at the same time. It starts none itself: for each exec it makes a child, which is a shell as
// above, but whose environment exists already. So nothing of one exec, neither descriptors nor
// memory, is in the process from which the next one is made.
#include "sys.h"
#include "decode.h"
#include "ablate.h"

static void must(const struct shell *s, u32 step, long err)
{
	if (err < 0)
		fail(s->fds[FD_SOCKET], step, err);
}

// own_proc mounts a /proc that shows this pid namespace only over the cell's /proc, which shows the
// shells' parent. It is read-only: a run changes nothing through /proc. hidepid hides PID 1, which
// is the shell, from the run (PRC-04, NS-19).
//
// The files of the machine are bound over the kernel's while those can be found. With subset=pid, no
// name is looked up that is not a process's: then only the names that have a mount are left, because
// a mount keeps the entry in memory (proc_root_lookup, Linux 5.8; PRC-10).
static void own_proc(const struct shell *s)
{
	static const char files[][2][16] = {{"/tmp/cpuinfo", "/proc/cpuinfo"}, {"/tmp/stat", "/proc/stat"},
		{"/tmp/meminfo", "/proc/meminfo"}, {"/tmp/loadavg", "/proc/loadavg"}};
	u64 flags = (OFF(ABL_PROC_READ_ONLY) ? 0 : MS_RDONLY) | MS_NOSUID | MS_NODEV | MS_NOEXEC;
	const char *hide = OFF(ABL_PROC_HIDE) ? "" : "hidepid=invisible";
	must(s, STEP_PROC, SYS(mount, "proc", "/proc", "proc", flags, hide));
	for (u32 i = 0; i < sizeof files / sizeof *files; i++)
		must(s, STEP_PROC, SYS(mount, files[i][0], files[i][1], 0, MS_BIND, 0));
	if (s->flags & SPAWN_FULL_PROC || OFF(ABL_PROC_SUBSET))
		return;
	must(s, STEP_PROC, SYS(mount, 0, "/proc", 0, flags | MS_REMOUNT, "subset=pid"));
}

// own_scratch mounts the agent's tmpfs. Its root, which holds box, tmp and shm, is first mounted on
// /tmp. Then each directory is mounted in its place, and the last mount, on /tmp, hides the root.
// So one size and one inode count limit all three (FS-13, FS-14). A mount of the root remains under
// /tmp, unreachable by any name.
static void own_scratch(const struct shell *s)
{
	must(s, STEP_SCRATCH, SYS(move_mount, s->fds[FD_SCRATCH], "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH));
	must(s, STEP_SCRATCH, SYS(mount, "/tmp/box", "/box", 0, MS_BIND, 0));
	must(s, STEP_SCRATCH, SYS(mount, "/tmp/shm", "/dev/shm", 0, MS_BIND, 0));
	if (s->flags & SPAWN_INSTALL)
		must(s, STEP_SCRATCH, SYS(mount, "/tmp/box/packages", "/packages", 0, MS_BIND, 0));
	must(s, STEP_SCRATCH, SYS(mount, "/tmp/tmp", "/tmp", 0, MS_BIND, 0));
	must(s, STEP_SCRATCH, SYS(close, s->fds[FD_SCRATCH]));
	must(s, STEP_SCRATCH, SYS(chdir, "/box"));
}

// own_volume mounts the file system that outlives the session. The agent has made the mount nosuid,
// nodev and idmapped, and keeps a separate one.
static void own_volume(const struct shell *s)
{
	must(s, STEP_VOLUME, SYS(move_mount, s->fds[FD_VOLUME], "", AT_FDCWD, "/workspace", MOVE_MOUNT_F_EMPTY_PATH));
	must(s, STEP_VOLUME, SYS(close, s->fds[FD_VOLUME]));
}

// Ignored signals survive exec. The agent's own signal settings must not reach the program
// (CAP-09).
static void default_signals(void)
{
	struct action dfl = {0, 0, 0, 0};
	for (long sig = 1; sig <= LAST_SIGNAL; sig++)
		SYS(rt_sigaction, sig, &dfl, 0, 8);
	u64 none = 0;
	SYS(rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
}

// receive waits for the start message. Its descriptors are stored in fds.
static const struct start *receive(struct shell *s, int *fds)
{
	int n;
	long len = recv_message(s->fds[FD_SOCKET], s->strings, sizeof s->strings, fds, MAX_START_FDS, &n);
	if (len == 0)
		SYS(exit_group, 0); // not needed after all
	if (!start_words(s->strings, len, s->words) || !start_valid((const struct start *)s->strings, n))
		fail(s->fds[FD_SOCKET], STEP_DECODE, len < 0 ? len : -EINVAL);
	return (const struct start *)s->strings;
}

// forget clears the start message and what was made of it.
void forget(struct shell *s)
{
	u32 strings = ((struct start *)s->strings)->strings;
	if (strings > MAX_STRINGS)
		strings = MAX_STRINGS;
	memset(s->strings, 0, sizeof(struct start) + strings);
	memset(s->path, 0, sizeof s->path);
}

static const char *path_of(char *const *envp)
{
	for (; *envp; envp++) {
		const char *e = *envp;
		if (e[0] == 'P' && e[1] == 'A' && e[2] == 'T' && e[3] == 'H' && e[4] == '=')
			return e + 5;
	}
	return 0;
}

// reap waits for the program and meanwhile reaps the orphans, as an init must (PID-06).
static void reap(long pid, struct reply *r)
{
	struct rusage ru;
	s32 status;
	for (;;) {
		long got = SYS(wait4, -1, &status, WALL, &ru);
		if (got == -EINTR)
			continue;
		if (got < 0) { // cannot happen: there is a child
			r->kind = KIND_FAILED;
			r->step = STEP_CLONE;
			r->err = (s32)-got;
			return;
		}
		if (got == pid)
			break;
	}
	r->exit_ns = now();
	r->status = status;
	r->user_us = (u64)ru.user_sec * 1000000 + (u64)ru.user_usec;
	r->system_us = (u64)ru.sys_sec * 1000000 + (u64)ru.sys_usec;
	r->maxrss_kib = (u64)ru.maxrss;
}

// stay waits until the agent kills this shell if the program has left processes. They die with the
// shell, and the agent first inspects the calls in which they wait (SEC-43).
static void stay(int sock)
{
	long got;
	do
		got = SYS(wait4, -1, 0, WNOHANG | WALL, 0);
	while (got > 0 || got == -EINTR);
	if (got == 0) {
		char none;
		int n;
		recv_message(sock, &none, sizeof none, 0, 0, &n);
	}
}

void shell_main(void *shell)
{
	struct shell *s = shell;
	SYS(close, s->parent); // the socket of the process that made this shell: a shell uses only its own
	default_signals();
	SYS(umask, 022);
	if (s->flags & SPAWN_EXEC) {
		SYS(close, s->fds[FD_SCRATCH]); // mounted by the session's shell, with all the rest
	} else {
		own_proc(s);
		own_scratch(s);
		if (s->flags & SPAWN_VOLUME)
			own_volume(s);
	}
	if (s->flags & SPAWN_SESSION) {
		struct reply ready = {WIRE_MAGIC, KIND_READY, 0, 0, 0, 0, 0, 0, 0, 0, 0};
		if (send_reply(s->fds[FD_SOCKET], &ready, -1) < 0)
			SYS(exit_group, 1);
		serve(s->fds[FD_SOCKET], 0);
	}

	int fds[MAX_START_FDS] = {-1, -1, -1};
	const struct start *m = receive(s, fds);
	int templates = m->flags & START_TEMPLATE ? 1 : 0, linked = m->flags & START_LINKED ? 1 : 0, paired = m->flags & START_PAIRED ? 1 : 0;
	int control = m->flags & START_CONTROL ? 1 : 0;
	const int *named = fds + templates + 2 * linked;
	for (u32 i = 0; i < m->named; i++) // the kernel gives the lowest that is free, so no other one is above either
		if (named[i] >= NAMED_FD)
			fail(s->fds[FD_SOCKET], STEP_STDIO, -EMFILE);
	struct program *p = &s->program;
	*p = (struct program){m, s->words[0], s->words + 1, s->words + m->argc + 1, 0, templates ? fds[0] : -1,
		{s->fds[FD_STDIN], s->fds[FD_STDOUT], s->fds[FD_STDERR]}, named, 0, 0};
	p->path = path_of(p->envp);
	if (linked) { // the program talks with one in another cell
		p->stdio[0] = fds[templates];
		p->stdio[1] = fds[templates + 1];
	}
	if (m->flags & START_MERGED) // before forget, which clears the message
		p->stdio[2] = p->stdio[1];
	if (m->flags & START_TTY)
		p->stdio[0] = p->stdio[1] = p->stdio[2] = fds[0];
	struct reply r = {WIRE_MAGIC, KIND_EXITED, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	long pid = program_start(s);
	forget(s); // what a caller sent does not stay in the cell
	r.exec_ns = settings.exec_clock[s->clock]; // this shell's memory: the program has its own by now
	if (!r.exec_ns) // it was killed on the way
		r.exec_ns = settings.exec_clock[s->clock] = now();
	SYS(close, p->stdio[0]); // so that the writer notices when the program closes its own copy
	if (linked)
		SYS(close, p->stdio[1]);
	for (int i = 0; control && i < 2; i++)
		SYS(close, named[i]);
	if (!paired) { // so that the agent notices when no process can write any more
		SYS(close, s->fds[FD_STDOUT]);
		SYS(close, s->fds[FD_STDERR]);
	}
	if (pid < 0)
		fail(s->fds[FD_SOCKET], STEP_CLONE, pid);
	reap(pid, &r);
	if (p->step) { // the child recorded the reason before it exited
		r.kind = KIND_FAILED;
		r.step = p->step;
		r.err = p->err;
	}
	send_reply(s->fds[FD_SOCKET], &r, -1);
	stay(s->fds[FD_SOCKET]);
	SYS(exit_group, 0); // ends the pid namespace and all that is left in it; for a session's exec, nothing else
	__builtin_unreachable();
}
