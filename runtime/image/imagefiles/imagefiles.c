// imagefiles: the agent's child that reads the files of one image, and nothing in them.
//
// Descriptors: 3 this program, 4 the image's tree, 5 a seqpacket socket to the agent,
// 6 a pipe to whose other end the agent never writes.
//
//   imagefiles hold   maps every file and locks its pages in memory, within what the agent
//                     grants, until the agent's end of the socket closes (docs/adr/0015)
//   imagefiles read   makes the kernel read the files ahead and holds none
//   imagefiles copy   copies the tree into the empty directory that is descriptor 7
//
// Each ends when the agent's end of the pipe closes, at once.
//
// Messages are structs of five 64-bit words; see runtime/imagechild.go.
#include "imagefiles.h"

// die reports which step failed, and ends this process.
__attribute__((noreturn)) void die(u64 step, long err)
{
	struct word5 w = {KIND_IMAGE_FAILED, step, (u64)-err, 0, 0};
	say(&w);
	SYS(exit_group, 1);
	__builtin_unreachable();
}

void say(const struct word5 *w)
{
	long n;
	do
		n = SYS(write, SOCKET_FD, w, sizeof *w);
	while (n == -EINTR);
	if (n != (long)sizeof *w)
		SYS(exit_group, 1); // the agent is gone
}

// hear waits for the agent's next message; at end of file this process ends.
void hear(struct word5 *w)
{
	long n;
	do
		n = SYS(read, SOCKET_FD, w, sizeof *w);
	while (n == -EINTR);
	if (n != (long)sizeof *w)
		SYS(exit_group, n == 0 ? 0 : 1);
}

// end_with_agent makes the kernel kill this process when the agent's end of the pipe closes,
// whatever it is doing, even if it is stopped (O_ASYNC with F_SETSIG: fcntl(2)). The socket cannot
// be used for that: a message would kill as well, also one that was just read. PR_SET_PDEATHSIG
// would kill it at the end of the agent's thread that started this process.
void end_with_agent(void)
{
	long self = SYS(getpid), err = SYS(fcntl, LIFE_FD, F_SETSIG, SIGKILL);
	if (err >= 0)
		err = SYS(fcntl, LIFE_FD, F_SETOWN, self);
	if (err >= 0)
		err = SYS(fcntl, LIFE_FD, F_SETFL, FASYNC | O_NONBLOCK);
	if (err < 0)
		die(IMAGE_STEP_AGENT, err);
	char c; // the agent may have ended before
	if (SYS(read, LIFE_FD, &c, sizeof c) == 0)
		SYS(exit_group, 0);
}

// keep_only leaves this process the given capabilities, and no way to get others.
void keep_only(u64 caps)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {{0}, {0}};
	data[0].effective = data[0].permitted = (u32)caps;
	long err = SYS(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (err >= 0)
		err = SYS(capset, &head, data);
	if (err == -EPERM) { // the agent itself lacks one of them: an operation that needs it fails later
		struct __user_cap_data_struct own[2];
		err = SYS(capget, &head, own);
		data[0].permitted &= own[0].permitted;
		data[0].effective = data[0].permitted;
		if (err >= 0)
			err = SYS(capset, &head, data);
	}
	if (err < 0)
		die(IMAGE_STEP_PRIVILEGE, err);
}

int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

// each calls handle for every entry of a directory except . and .., with its type as the directory
// has it, which may be DT_UNKNOWN.
void each(int dir, void (*handle)(int dir, const char *name, u8 type, void *arg), void *arg)
{
	char buf[2048] __attribute__((aligned(8))); // trees may be 2,048 deep: 4 MiB of the stack
	for (;;) {
		long n = SYS(getdents64, dir, buf, sizeof buf);
		if (n == 0)
			return;
		if (n < 0)
			die(IMAGE_STEP_LIST, n);
		for (long at = 0; at < n;) {
			const struct dirent64 *d = (const struct dirent64 *)(buf + at);
			at += d->len;
			if (!same(d->name, ".") && !same(d->name, ".."))
				handle(dir, d->name, d->type, arg);
		}
	}
}

int open_dir(int dir, const char *name)
{
	long fd = SYS(openat, dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		die(IMAGE_STEP_OPEN, fd);
	return (int)fd;
}

void look(int dir, const char *name, int flags, struct statx *st)
{
	long err = SYS(statx, dir, name, flags | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, st);
	if (err < 0)
		die(IMAGE_STEP_STAT, err);
}

__attribute__((noreturn, used)) void imagefiles(const u64 *sp)
{
	const char *what = sp[0] > 1 ? (const char *)sp[2] : "";
	SYS(prctl, PR_SET_NAME, "imagefiles", 0, 0, 0);
	SYS(close, SELF_FD);
	if (same(what, "hold"))
		hold();
	else if (same(what, "read"))
		read_ahead();
	else if (same(what, "copy"))
		copy();
	SYS(exit_group, 2);
	__builtin_unreachable();
}

__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall imagefiles\n\tud2\n");
