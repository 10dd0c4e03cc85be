// cellinit: PID 1 of a cell. docs/architecture.md shows which process sends what to which.
//
// It prepares the cell once (keyrings, privileges, the wide filter), then makes shells on demand
// until the agent's end of the socket closes. Then it exits, and with it the kernel ends everything
// in the cell: a killed agent leaves no process behind.
#include "sys.h"
#include "decode.h"
#include "ablate.h"

enum { SELF_FD = 3, AGENT_FD = 4 };

struct settings settings;
#ifdef ABLATE
u32 layers_off;
#endif

static void seal_keyring(long ring)
{
	long id = SYS(keyctl, KEYCTL_GET_KEYRING_ID, ring, 1);
	if (id < 0)
		return;
	SYS(keyctl, KEYCTL_RESTRICT_KEYRING, id, 0, 0);
	SYS(keyctl, KEYCTL_SETPERM, id, 0);
}

// Keyrings outlive processes, and this user namespace is kept from run to run. So the session
// keyring and the user keyrings are made unusable before the first run (RES-06). The filter denies
// the calls as well; this holds with the filter off. The persistent keyring cannot be sealed: the
// kernel does not let its owner set permissions on it, and makes a new one in place of a revoked
// one (security/keys/persistent.c). So without the filter, runs of one cell can leave keys there.
static void seal_keyrings(void)
{
	long err = SYS(keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0);
	if (err == -ENOSYS)
		return; // a kernel without keyrings has nothing to seal
	if (err < 0)
		fail(AGENT_FD, STEP_KEYRING, err);
	seal_keyring(KEY_SPEC_SESSION_KEYRING);
	long pid = SYS(fork);
	if (pid < 0)
		fail(AGENT_FD, STEP_KEYRING, pid);
	if (pid == 0) {
		if (SYS(setresgid, settings.gid, settings.gid, settings.gid) || SYS(setresuid, settings.uid, settings.uid, settings.uid))
			SYS(exit_group, 1);
		seal_keyring(KEY_SPEC_USER_KEYRING);
		seal_keyring(KEY_SPEC_USER_SESSION_KEYRING);
		SYS(exit_group, 0);
	}
	s32 status = 0;
	long got;
	do
		got = SYS(wait4, pid, &status, WALL, 0);
	while (got == -EINTR);
	if (got != pid || status != 0)
		fail(AGENT_FD, STEP_KEYRING, -EPERM);
}

// No process below this one can gain a privilege again: the bounding set is empty, exec raises no
// privilege, and no process may inspect this one (CAP-01, NS-19).
static void drop_privilege(void)
{
	for (long cap = 0; cap < 64 && !OFF(ABL_BOUNDING); cap++) {
		long err = SYS(prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
		if (err == -EINVAL)
			break; // past the last capability this kernel knows
		if (err < 0)
			fail(AGENT_FD, STEP_PRIVILEGE, err);
	}
	long err = OFF(ABL_NO_NEW_PRIVS) ? 0 : SYS(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (err >= 0 && !OFF(ABL_DUMPABLE))
		err = SYS(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (err < 0)
		fail(AGENT_FD, STEP_PRIVILEGE, err);
}

// load_wide installs the filter that every process of the cell inherits and returns its listener.
// The instructions are mapped, not copied: they are large and needed once.
static int load_wide(int memfd, u32 count)
{
	u64 bytes = count * sizeof(struct insn);
	long at = MMAP(0, bytes, PROT_READ, MAP_PRIVATE, memfd);
	if (at < 0 && at > -4096)
		fail(AGENT_FD, STEP_FILTER, at);
	struct fprog prog = {(u16)count, (struct insn *)at};
	long fd = SYS(seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
	if (fd < 0)
		fail(AGENT_FD, STEP_FILTER, fd);
	SYS(munmap, at, bytes);
	return (int)fd;
}

// decimal writes a number at p, and returns the place after it.
static char *decimal(char *p, u64 n)
{
	char digits[20];
	u32 count = 0;
	do
		digits[count++] = (char)('0' + n % 10);
	while (n /= 10);
	while (count)
		*p++ = digits[--count];
	return p;
}

// own_map maps user or group 0 of a process's new user namespace to id in the cell's, and nothing else.
static void own_map(const char *path, u32 id)
{
	char line[32] = "0 ";
	char *end = decimal(line + 2, id);
	memcpy(end, " 1\n", 3);
	s64 size = end + 3 - line;
	long fd = SYS(openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		fail(AGENT_FD, STEP_NAMESPACE, fd);
	long n = SYS(write, fd, line, size);
	if (n != size)
		fail(AGENT_FD, STEP_NAMESPACE, n < 0 ? n : -EINVAL);
	SYS(close, fd);
}

// own_namespace makes the user namespace of programs that own their image and returns a handle: user 0
// there is the program's ordinary user, and there is no other one. It owns no namespace of another kind.
// The process that carries it ends here. The cell may have this one and no other (runtime/cell/spec.go),
// so no program can make one below it, with or without the filter (OWN-05).
static int own_namespace(void)
{
	long pid = SYS(clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		fail(AGENT_FD, STEP_NAMESPACE, pid);
	if (pid == 0) {
		for (;;)
			SYS(pause);
	}

	char path[48] = "/proc/";
	char *end = decimal(path + 6, (u64)pid);
	memcpy(end, "/uid_map", sizeof "/uid_map");
	own_map(path, settings.uid);
	memcpy(end, "/gid_map", sizeof "/gid_map");
	own_map(path, settings.gid);
	memcpy(end, "/ns/user", sizeof "/ns/user");
	long fd = SYS(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		fail(AGENT_FD, STEP_NAMESPACE, fd);

	long err = SYS(kill, pid, SIGKILL);
	s32 status = 0;
	while (err >= 0 || err == -EINTR) {
		err = SYS(wait4, pid, &status, WALL, 0);
		if (err == pid)
			return (int)fd;
	}
	fail(AGENT_FD, STEP_NAMESPACE, err);
}

// The default timer slack of a process (kernel/fork.c, init_task), in ns. fork keeps the value, and
// the agent's thread that started this process may have had a larger one (internal/sysmon): it must
// not delay a program's timers (TestProgramEnvironment).
enum { TIMER_SLACK = 50000 };

static void prepare(void)
{
	static struct hello h;
	int fds[2], n;
	long len = recv_message(AGENT_FD, &h, sizeof h, fds, 2, &n);
	if (len == 0)
		SYS(exit_group, 0);
	if (!hello_valid(&h, len, n))
		fail(AGENT_FD, STEP_DECODE, len < 0 ? len : -EINVAL);
	long page = MMAP(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0]);
	if (page < 0 && page > -4096)
		fail(AGENT_FD, STEP_DECODE, page);
	settings.exec_clock = (u64 *)page;
	SYS(close, fds[0]);
	settings.uid = h.uid;
	settings.gid = h.gid;
	settings.namespace = h.flags & HELLO_OWNS_IMAGE ? own_namespace() : -1;
	settings.last_len = h.last;
	memcpy(settings.last_filter, h.insns, h.last * sizeof(struct insn));
	long err = SYS(mprotect, &settings, sizeof settings, PROT_READ);
	if (err >= 0)
		err = raise_peak();
	if (err < 0)
		fail(AGENT_FD, STEP_PRIVILEGE, err);

	if (!OFF(ABL_KEYRINGS))
		seal_keyrings();
	drop_privilege();
	int listener = -1;
	if (h.wide) {
		listener = load_wide(fds[1], h.wide);
		SYS(close, fds[1]);
	}
	struct reply r = {WIRE_MAGIC, KIND_READY, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	if (send_reply(AGENT_FD, &r, listener) < 0)
		SYS(exit_group, 1);
	if (listener >= 0)
		SYS(close, listener); // only the agent answers
}

#ifdef ABLATE
__attribute__((noreturn, used)) void cellinit(const u64 *sp)
{
	for (const char *d = sp[0] > 1 ? (const char *)sp[2] : ""; *d; d++)
		layers_off = layers_off * 10 + (u32)(*d - '0');
#else
__attribute__((noreturn, used)) void cellinit(void)
{
#endif
	SYS(prctl, PR_SET_NAME, "cellinit", 0, 0, 0);
	SYS(prctl, PR_SET_TIMERSLACK, TIMER_SLACK, 0, 0, 0);
	SYS(close, SELF_FD); // no process below may reach this program's file (FS-08)
	prepare();

	serve(AGENT_FD, CLONE_NEWNS | (OFF(ABL_PID_NS) ? 0 : CLONE_NEWPID) | (OFF(ABL_IPC_NS) ? 0 : CLONE_NEWIPC));
}

#ifdef ABLATE
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall cellinit\n\tud2\n");
#else
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall cellinit\n\tud2\n");
#endif
