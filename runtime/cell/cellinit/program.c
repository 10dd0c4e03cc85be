// The last steps before the program: between clone and execve.
//
// The child shares the shell's memory until exec (CLONE_VM|CLONE_VFORK: no page table is copied),
// so it only reads what the shell prepared and writes two words. It has a separate stack. The order
// is the only one that works: limits while still root; then the groups, so that the work before
// that is not charged to the program; then the cgroup namespace, whose root is the groups joined
// and which only root can make; then identity; the last filter at the end, because it denies what
// the earlier steps need.
#include "sys.h"
#include "ablate.h"

static __attribute__((noreturn)) void quit(struct shell *s, u32 step, long err)
{
	s->program.err = (s32)-err;
	s->program.step = step;
	SYS(exit_group, 127);
	__builtin_unreachable();
}

static void must(struct shell *s, u32 step, long err)
{
	if (err < 0)
		quit(s, step, err);
}

// 0, 1 and 2 are the run's pipes and nothing else stays open, except for the sealed file of a
// template, the two pipes of START_CONTROL, and handles of pipes that the program shares with its
// interactor: a directory handle or a tasks file left open would be a way out (FS-06, CVE-2024-21626).
static void stdio(struct shell *s)
{
	for (int i = 0; i < 3; i++)
		must(s, STEP_STDIO, SYS(dup2, s->program.stdio[i], i));
	for (u32 i = 0; i < s->program.start->named; i++) // before the limit on open files, which may be lower
		must(s, STEP_STDIO, SYS(dup2, s->program.named[i], NAMED_FD + i));
}

static void limits(struct shell *s)
{
	const struct start *m = s->program.start;
	for (u32 i = 0; i < m->rlimits && !OFF(ABL_RLIMITS); i++) {
		struct { u64 soft, hard; } l = {m->limit[i].soft, m->limit[i].hard};
		must(s, STEP_RLIMIT, SYS(prlimit64, 0, m->limit[i].resource, &l, 0));
	}
}

// enter goes to the user namespace of programs that own their image. Before the descriptors are closed:
// its handle is one of them.
static void enter(struct shell *s)
{
	if (settings.namespace >= 0)
		must(s, STEP_NAMESPACE, SYS(setns, settings.namespace, CLONE_NEWUSER));
}

// no_capability takes back what the kernel gives to a process that enters a user namespace: all
// capabilities there, and a full bounding set. User 0 of that namespace is the program, so exec and
// changes of ids must give none either; no_new_privs forbids that in addition (OWN-01).
static void no_capability(struct shell *s)
{
	for (long cap = 0; cap < 64 && !OFF(ABL_BOUNDING); cap++) {
		long err = SYS(prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
		if (err == -EINVAL)
			break; // past the last capability this kernel knows
		must(s, STEP_PRIVILEGE, err);
	}
	must(s, STEP_PRIVILEGE, SYS(prctl, PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0));
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
	must(s, STEP_PRIVILEGE, SYS(capset, &header, none));
}

// Changing from root to another uid empties the permitted, effective and ambient sets. The
// inheritable set was never filled, and the bounding set is empty (CAP-01).
static void identity(struct shell *s)
{
	if (OFF(ABL_IDENTITY))
		return;
	u32 own = settings.namespace >= 0, gid = own ? 0 : settings.gid, uid = own ? 0 : settings.uid;
	must(s, STEP_IDENTITY, SYS(setresgid, gid, gid, gid));
	must(s, STEP_IDENTITY, SYS(setresuid, uid, uid, uid));
	if (own)
		no_capability(s);
}

// A thread that writes "0" to a v1 tasks file moves itself without the global lock that writing a
// pid takes. The agent opened the files, and the kernel checks the rights of the opener
// (CVE-2021-4197), so this works without privilege.
//
// The run's groups become the root of its cgroup namespace, so the run sees "/" in
// /proc/self/cgroup and nothing of the host's tree (NS-11).
static void join(struct shell *s, int template)
{
	u32 first_closed = 3;
	int first = s->has_cgroup ? FD_FIXED : FD_CGROUP;
	for (u32 i = 0; i < s->joins; i++)
		must(s, STEP_CGROUP, SYS(write, s->fds[first + i], "0", 1));
	if (!OFF(ABL_CGROUP_NS))
		must(s, STEP_CGROUP, SYS(unshare, CLONE_NEWCGROUP));
	if (template >= 0) { // the joined groups' files are not needed any more: one may be TEMPLATE_FD
		if (template != TEMPLATE_FD)
			must(s, STEP_STDIO, SYS(dup2, template, TEMPLATE_FD));
		first_closed = TEMPLATE_FD + 1;
	}
	u32 named = s->program.start->named;
	if (s->program.start->flags & START_CONTROL) { // those files are not needed any more: CONTROL_FD may be one
		for (u32 i = 0; i < named; i++)
			must(s, STEP_STDIO, SYS(dup2, NAMED_FD + i, CONTROL_FD + i));
		first_closed = CONTROL_FD + named;
		named = 0;
	}
	if (OFF(ABL_DESCRIPTORS))
		return;
	must(s, STEP_STDIO, SYS(close_range, first_closed, named ? NAMED_FD - 1 : ~0U, 0));
	if (named)
		must(s, STEP_STDIO, SYS(close_range, NAMED_FD + named, ~0U, 0));
}

static void last(struct shell *s)
{
	if (!settings.last_len || OFF(ABL_NO_NEW_PRIVS)) // without no_new_privs, and now without privilege, the kernel refuses
		return;
	struct fprog prog = {(u16)settings.last_len, (struct insn *)settings.last_filter};
	must(s, STEP_LAST_FILTER, SYS(seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog));
}

// exec finds the program as execvp does: a name with a slash is used as it is, any other is tried
// in every directory of PATH. EACCES is remembered, because "not executable" is more precise than
// "not found".
static void exec(struct shell *s)
{
	const struct program *p = &s->program;
	const char *name = p->argv[0];
	u64 len = 0;
	int slash = 0;
	for (; name[len]; len++)
		slash |= name[len] == '/';
	if (slash || !p->path)
		quit(s, STEP_EXEC, SYS(execve, name, p->argv, p->envp));
	long err = -ENOENT;
	for (const char *dir = p->path;;) {
		u64 n = 0;
		while (dir[n] && dir[n] != ':')
			n++;
		if (n > 0 && n + 1 + len < sizeof s->path) {
			memcpy(s->path, dir, n);
			s->path[n] = '/';
			memcpy(s->path + n + 1, name, len + 1);
			long e = SYS(execve, s->path, p->argv, p->envp);
			if (e != -ENOENT && e != -ENOTDIR && e != -EACCES)
				quit(s, STEP_EXEC, e);
			if (e == -EACCES)
				err = e;
		}
		if (!dir[n])
			break;
		dir += n + 1;
	}
	quit(s, STEP_EXEC, err);
}

// exec_template executes the file of a template, which has no name. restore closes the descriptor
// before the program begins.
static void exec_template(struct shell *s)
{
	const struct program *p = &s->program;
	quit(s, STEP_EXEC, SYS(execveat, TEMPLATE_FD, "", p->argv, p->envp, AT_EMPTY_PATH));
}

static void child(void *shell)
{
	struct shell *s = shell;
	const struct program *p = &s->program;
	stdio(s);
	limits(s);
	must(s, STEP_IDENTITY, SYS(setsid));
	if (s->program.start->flags & START_TTY) // of the session that this process leads: its Ctrl-C is a signal now
		must(s, STEP_STDIO, SYS(ioctl, 0, TIOCSCTTY, 0));
	enter(s);
	join(s, p->template);
	identity(s);
	if (*p->dir) // as the program's own user: it gets nowhere that it could not go itself
		must(s, STEP_DIRECTORY, SYS(chdir, p->dir));
	// The child records this instant, not the shell: the shell waits for the processor that the
	// program now uses. It is recorded before the last filter: a profile may have its own answer to
	// the call.
	settings.exec_clock[s->clock] = now();
	last(s);
	if (p->template >= 0)
		exec_template(s);
	exec(s);
	__builtin_unreachable();
}

// program_start makes the child, in its cgroup from its first instruction if the host has cgroup2.
// It returns the child's pid once the child has become the program or failed; s->program.step tells
// which.
long program_start(struct shell *s)
{
	struct clone_args args = {0};
	// The kernel itself sets the word that it clears at the end. A shell that is killed before there is a
	// child would leave a word of its own set, and with it this part of the memory in use for ever.
	args.flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	args.parent_tid = args.child_tid = (u64)&s->starting;
	args.exit_signal = SIGCHLD;
	args.stack = (u64)s->program_stack;
	args.stack_size = sizeof s->program_stack;
	if (s->has_cgroup) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (u64)s->fds[FD_CGROUP];
	}
	return clone_calling(&args, child, s);
}
