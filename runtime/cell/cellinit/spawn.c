// Making children on demand: cellinit makes shells, and the shell of a session one
// for each exec.
#include "sys.h"
#include "decode.h"

// spawn makes one child, in the new namespaces that spaces lists, and sends its pidfd to the agent.
static void spawn(int sock, u64 spaces, const struct spawn *m, struct shell *s)
{
	s32 pidfd = -1;
	struct clone_args args = {0};
	args.flags = spaces | CLONE_PIDFD;
	args.pidfd = (u64)&pidfd;
	args.exit_signal = SIGCHLD;
	s->flags = m->flags;
	s->joins = m->joins;
	s->has_cgroup = m->has_cgroup;
	s->clock = m->clock;
	long pid = SYS(clone3, &args, sizeof args);
	if (pid == 0)
		shell_main(sock, s);
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
		struct shell s;
		int n;
		long len = recv_message(sock, &m, sizeof m, s.fds, FD_FIXED + MAX_JOINS, &n);
		if (len == 0)
			SYS(exit_group, 0); // the agent is gone
		if (!spawn_valid(&m, len, n) || !(m.flags & SPAWN_EXEC) != (spaces != 0))
			fail(sock, STEP_DECODE, len < 0 ? len : -EINVAL);
		spawn(sock, spaces | (m.flags & SPAWN_NETWORK ? CLONE_NEWNET : 0), &m, &s);
		for (int i = 0; i < n; i++)
			SYS(close, s.fds[i]);
	}
}
