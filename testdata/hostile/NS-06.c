#define ID "NS-06"
#include "probe.h"
#include <stddef.h>
#include <sys/un.h>
static struct sockaddr_un at;
static socklen_t name(const char *s) {
	at = (struct sockaddr_un){.sun_family = AF_UNIX};
	strncpy(at.sun_path, s, sizeof at.sun_path - 1);
	at.sun_path[0] = 0;
	return offsetof(struct sockaddr_un, sun_path) + strlen(s);
}
int main(int c, char **v) {
	int sv[2] = {-1, -1}, s = TRY("socket", socket(AF_UNIX, SOCK_STREAM, 0));
	socklen_t n = name(v[1]);
	TRY("connect", connect(s, (void *)&at, n));
	TRY("pair", socketpair(AF_UNIX, SOCK_DGRAM, 0, sv)); // a socket that needs no socket(2)
	n = name(v[2]);
	struct iovec one = {"x", 1};
	struct msghdr m = {.msg_name = &at, .msg_namelen = n, .msg_iov = &one, .msg_iovlen = 1};
	TRY("connect by sendto", sendto(sv[0], "x", 1, 0, (void *)&at, n));
	TRY("connect by sendmsg", sendmsg(sv[0], &m, 0));
	TRY("redirect the pair", connect(sv[0], (void *)&at, n));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv)) return 1;
	TRY("stream pair to a name", sendto(sv[0], "x", 1, MSG_NOSIGNAL, (void *)&at, n));
	return 0;
}
