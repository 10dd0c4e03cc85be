#define ID "NS-05"
#include "probe.h"
#include <arpa/inet.h>
#include <netinet/in.h>
int main(int c, char **v) {
	static const char *to[] = {"127.0.0.1"};
	int port = c > 1 ? atoi(v[1]) : 1;
	int s = TRY("socket", socket(AF_INET, SOCK_STREAM, 0));
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	inet_pton(AF_INET, to[0], &a.sin_addr);
	TRY("connect", connect(s, (void *)&a, sizeof a));
	TRY("connect 1", connect(1, (void *)&a, sizeof a));
	TRY("open net/tcp", open("/proc/net/tcp", O_RDONLY));
	return 0;
}
