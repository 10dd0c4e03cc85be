#define ID "SEC-37"
#include "probe.h"
#include <linux/filter.h>
// Socket-level options other than sizes and times: filters, whose machine code is charged to no
// group and whose sum is limited for the whole host, and handles of processes.
int main(void) {
	int s[2], one = 1, v[16]; socklen_t n = sizeof v;
	socketpair(AF_UNIX, SOCK_STREAM, 0, s);
	struct sock_filter all = {BPF_RET | BPF_K, 0, 0, 0xffff}; struct sock_fprog filter = {1, &all};
	TRY("attach filter", setsockopt(s[0], SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
	TRY("attach filter high", syscall(SYS_setsockopt, s[0], 1UL << 32 | SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
	TRY("attach filter high option", syscall(SYS_setsockopt, s[0], SOL_SOCKET, 1UL << 32 | SO_ATTACH_FILTER, &filter, sizeof filter));
	TRY("lock filter", setsockopt(s[0], SOL_SOCKET, SO_LOCK_FILTER, &one, sizeof one));
	TRY("get filter", getsockopt(s[0], SOL_SOCKET, SO_ATTACH_FILTER, 0, &n));
	TRY("pass pidfd", setsockopt(s[0], SOL_SOCKET, 76, &one, sizeof one)); n = sizeof v;
	TRY("peer pidfd", getsockopt(s[0], SOL_SOCKET, 77, v, &n));
	TRY("pass credentials", setsockopt(s[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof one));
	TRY("timestamping", setsockopt(s[0], SOL_SOCKET, SO_TIMESTAMPING, &one, sizeof one));
	TRY("mark", getsockopt(s[0], SOL_SOCKET, SO_MARK, v, &n));
	TRY("size", setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &one, sizeof one)); /* this one is allowed */
	return 0; }
