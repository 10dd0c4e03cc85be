// Sending and receiving one message with descriptors.
#include "sys.h"

void *memset(void *p, int c, u64 n)
{
	void *ret = p;
	__asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(c) : "memory");
	return ret;
}

void *memcpy(void *to, const void *from, u64 n)
{
	void *ret = to;
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return ret;
}

int send_reply(int sock, const struct reply *r, int fd)
{
	struct iovec iov = {(void *)r, sizeof *r};
	struct cmsg c = {sizeof(u64) + 2 * sizeof(s32) + sizeof(s32), SOL_SOCKET, SCM_RIGHTS, {fd}};
	struct msghdr m = {0};
	m.iov = &iov;
	m.iovlen = 1;
	if (fd >= 0) {
		m.control = &c;
		m.controllen = sizeof(u64) + 4 * sizeof(s32); // CMSG_SPACE of one descriptor
	}
	long n;
	do
		n = SYS(sendmsg, sock, &m, MSG_NOSIGNAL);
	while (n == -EINTR);
	return n == (long)sizeof *r ? 0 : -1;
}

// fail reports which step failed, and ends this process.
__attribute__((noreturn)) void fail(int sock, u32 step, long err)
{
	struct reply r = {WIRE_MAGIC, KIND_FAILED, step, (s32)-err, 0, 0, 0, 0, 0, 0, 0};
	send_reply(sock, &r, -1);
	SYS(exit_group, 1);
	__builtin_unreachable();
}

// recv_message reads one datagram into buf and up to max descriptors, all close-on-exec. It returns
// the length, 0 at end of file, or a negative errno. A truncated datagram or descriptor list is
// -EMSGSIZE: nothing is ever guessed.
long recv_message(int sock, void *buf, u64 size, int *fds, int max, int *count)
{
	struct iovec iov = {buf, size};
	struct cmsg c;
	struct msghdr m = {0};
	m.iov = &iov;
	m.iovlen = 1;
	m.control = &c;
	m.controllen = sizeof c;
	*count = 0;
	long n;
	do
		n = SYS(recvmsg, sock, &m, MSG_CMSG_CLOEXEC);
	while (n == -EINTR);
	if (n <= 0)
		return n;
	if (m.controllen >= sizeof(u64) + 2 * sizeof(s32) && c.level == SOL_SOCKET && c.type == SCM_RIGHTS) {
		int got = (int)((c.len - sizeof(u64) - 2 * sizeof(s32)) / sizeof(s32));
		for (int i = 0; i < got; i++) {
			if (i < max)
				fds[(*count)++] = c.fds[i];
			else
				SYS(close, c.fds[i]);
		}
		if (got > max)
			n = -EMSGSIZE;
	}
	if (m.flags & (MSG_TRUNC | MSG_CTRUNC))
		n = -EMSGSIZE;
	return n;
}
