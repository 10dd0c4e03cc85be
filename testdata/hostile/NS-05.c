#define ID "NS-05"
#include "probe.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/un.h>
static void local(const char *call, const char *name) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	strncpy(a.sun_path, name, sizeof a.sun_path - 1);
	socklen_t n = offsetof(struct sockaddr_un, sun_path) + strlen(name);
	if (*name == '@') a.sun_path[0] = 0; else n++;
	TRY(call, connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, n));
}
int main(int c, char **v) {
	static const char *to[] = {"127.0.0.1"};
	int port = c > 1 ? atoi(v[1]) : 1;
	int s = TRY("socket", socket(AF_INET, SOCK_STREAM, 0));
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	inet_pton(AF_INET, to[0], &a.sin_addr);
	TRY("connect", connect(s, (void *)&a, sizeof a));
	TRY("connect 1", connect(1, (void *)&a, sizeof a));
	if (c > 3) { local("connect abstract", v[2]); local("connect path", v[3]); }
	TRY("open net/tcp", open("/proc/net/tcp", O_RDONLY));
	return 0;
}
