/* Addresses, a server and its clients, TCP and UDP, with the options that ordinary servers, HTTP clients and
   resolvers set. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#define MUST(x) do { if (!(x)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, strerror(errno)); exit(1); } } while (0)

static int loopback(int s, struct sockaddr_in *at) {
	socklen_t size = sizeof *at;
	*at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	return bind(s, (struct sockaddr *)at, sizeof *at) || getsockname(s, (struct sockaddr *)at, &size);
}

static int set(int s, int level, int option, int value) { return setsockopt(s, level, option, &value, sizeof value); }

static int get(int s, int level, int option) {
	int value = -1;
	socklen_t size = sizeof value;
	return getsockopt(s, level, option, &value, &size) ? -1 : value;
}

/* A server answers the first client in capitals and closes the second one. */
static void *serve(void *arg) {
	int s = *(int *)arg, on;
	char text[16];
	MUST((on = accept4(s, 0, 0, SOCK_CLOEXEC)) >= 0);
	ssize_t n = read(on, text, sizeof text);
	for (ssize_t i = 0; i < n; i++)
		text[i] -= 32;
	struct iovec parts[2] = {{text, 1}, {text + 1, (size_t)(n - 1)}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	MUST(sendmsg(on, &m, MSG_NOSIGNAL) == n && close(on) == 0);
	MUST((on = accept(s, 0, 0)) >= 0 && close(on) == 0);
	return 0;
}

static void tcp(int protocol) {
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol), c = socket(AF_INET, SOCK_STREAM, protocol);
	struct sockaddr_in at;
	char text[16];
	pthread_t server;
	MUST(s >= 0 && c >= 0 && set(s, SOL_SOCKET, SO_REUSEADDR, 1) == 0 && loopback(s, &at) == 0 && listen(s, 16) == 0);
	MUST(get(s, SOL_SOCKET, SO_ACCEPTCONN) == 1);
	MUST(pthread_create(&server, 0, serve, &s) == 0);
	struct linger now = {1, 0};
	MUST(setsockopt(c, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0 && set(c, SOL_SOCKET, SO_KEEPALIVE, 1) == 0);
	static const struct { int level, option, value; } options[] = {
		{IPPROTO_TCP, TCP_NODELAY, 1}, {IPPROTO_TCP, TCP_CORK, 1}, {IPPROTO_TCP, TCP_KEEPIDLE, 30}, {IPPROTO_TCP, TCP_KEEPINTVL, 5},
		{IPPROTO_TCP, TCP_KEEPCNT, 3}, {IPPROTO_TCP, TCP_USER_TIMEOUT, 9000}, {IPPROTO_IP, IP_TOS, 16}, {IPPROTO_IP, IP_TTL, 9}};
	for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
		MUST(set(c, options[i].level, options[i].option, options[i].value) == 0);
		MUST(get(c, options[i].level, options[i].option) == options[i].value);
	}
	MUST(set(c, IPPROTO_TCP, TCP_CORK, 0) == 0);
	MUST(connect(c, (struct sockaddr *)&at, sizeof at) == 0 && write(c, "hello", 5) == 5);
	MUST(recv(c, text, sizeof text, MSG_WAITALL) == 5 && memcmp(text, "HELLO", 5) == 0 && close(c) == 0);
	MUST((c = socket(AF_INET, SOCK_STREAM, protocol)) >= 0 && connect(c, (struct sockaddr *)&at, sizeof at) == 0 && read(c, text, 1) == 0);
	MUST(pthread_join(server, 0) == 0);
}

/* As a resolver does: two questions at once, with errors of the network reported at once. */
static void udp(int protocol) {
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, protocol), c = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, protocol);
	struct sockaddr_in at;
	MUST(s >= 0 && c >= 0 && loopback(s, &at) == 0 && connect(c, (struct sockaddr *)&at, sizeof at) == 0);
	static const int options[] = {IP_RECVERR, IP_MULTICAST_ALL};
	for (unsigned i = 0; i < 2; i++)
		MUST(set(c, IPPROTO_IP, options[i], !i) == 0 && get(c, IPPROTO_IP, options[i]) == !i);
	MUST(set(c, SOL_SOCKET, SO_BROADCAST, 1) == 0);
	char text[2][8];
	struct iovec asked[2] = {{"a?", 2}, {"aaaa?", 5}}, got[2] = {{text[0], 8}, {text[1], 8}};
	struct mmsghdr out[2] = {{{.msg_iov = asked, .msg_iovlen = 1}}, {{.msg_iov = asked + 1, .msg_iovlen = 1}}};
	struct mmsghdr in[2] = {{{.msg_iov = got, .msg_iovlen = 1}}, {{.msg_iov = got + 1, .msg_iovlen = 1}}};
	MUST(sendmmsg(c, out, 2, MSG_NOSIGNAL) == 2 && recvmmsg(s, in, 2, 0, 0) == 2 && in[1].msg_len == 5 && memcmp(text[1], "aaaa?", 5) == 0);
}

/* The addresses of all interfaces, which a library looks at to find out whether there is IPv4. */
static void addresses(void) {
	struct ifaddrs *all, *a;
	int found = 0;
	MUST(getifaddrs(&all) == 0);
	for (a = all; a; a = a->ifa_next)
		found |= a->ifa_addr && a->ifa_addr->sa_family == AF_INET && strcmp(a->ifa_name, "lo") == 0;
	MUST(found);
	freeifaddrs(all);
}

int main(void) {
	addresses();
	tcp(0);
	tcp(IPPROTO_TCP);
	udp(0);
	udp(IPPROTO_UDP);
	puts("answered");
	return 0;
}
