/* An event loop: epoll, eventfd, signalfd, sockets. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#define MUST(x) do { if (!(x)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, strerror(errno)); exit(1); } } while (0)

static int watch(int e, int f) { struct epoll_event v = {.events = EPOLLIN, .data.fd = f}; return epoll_ctl(e, EPOLL_CTL_ADD, f, &v); }

int main(void) {
	int e = epoll_create1(EPOLL_CLOEXEC), old = epoll_create(1), n = eventfd(0, EFD_CLOEXEC), pair[2], on = 1;
	sigset_t usr1;
	sigemptyset(&usr1), sigaddset(&usr1, SIGUSR1);
	MUST(sigprocmask(SIG_BLOCK, &usr1, 0) == 0);
	int s = signalfd(-1, &usr1, SFD_CLOEXEC);
	MUST(e >= 0 && old >= 0 && n >= 0 && s >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	MUST(watch(e, n) == 0 && watch(e, s) == 0 && watch(e, pair[0]) == 0);
	uint64_t one = 1;
	struct signalfd_siginfo info;
	struct epoll_event got[4];
	MUST(write(n, &one, 8) == 8 && epoll_wait(e, got, 4, 0) == 1 && got[0].data.fd == n && read(n, &one, 8) == 8);
	MUST(kill(getpid(), SIGUSR1) == 0 && epoll_pwait(e, got, 4, 0, &usr1) == 1 && read(s, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR1);

	/* a helper process at the other end of a socket pair */
	if (fork() == 0) {
		char text[16];
		ssize_t len = recv(pair[1], text, sizeof text, 0);
		for (ssize_t i = 0; i < len; i++)
			text[i] -= 32;
		_exit(send(pair[1], text, len, MSG_NOSIGNAL) != len);
	}
	char text[16] = "";
	int left = 0, status;
	MUST(send(pair[0], "hello", 5, 0) == 5 && wait(&status) > 0 && status == 0);
	MUST(ioctl(pair[0], FIONREAD, &left) == 0 && left == 5 && recv(pair[0], text, 16, MSG_PEEK | MSG_DONTWAIT) == 5 && strcmp(text, "HELLO") == 0 && read(pair[0], text, 16) == 5);
	struct timeval wait = {0, 1000};
	int kind, size = 65536;
	struct ucred peer;
	struct sockaddr_un name;
	socklen_t len = sizeof kind;
	MUST(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) == 0 && setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) == 0);
	MUST(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size) == 0 && setsockopt(pair[0], SOL_SOCKET, SO_RCVBUF, &size, sizeof size) == 0);
	MUST(recv(pair[0], text, 16, 0) == -1 && errno == EAGAIN);
	MUST(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, &kind, &len) == 0 && kind == SOCK_STREAM && getsockopt(pair[0], SOL_SOCKET, SO_ERROR, &kind, &len) == 0 && kind == 0);
	MUST(getsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &kind, &len) == 0 && kind >= size && getsockopt(pair[0], SOL_SOCKET, SO_RCVBUF, &kind, &len) == 0 && kind >= size);
	len = sizeof peer;
	MUST(getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == getuid());
	len = sizeof name;
	MUST(getsockname(pair[0], (struct sockaddr *)&name, &len) == 0 && name.sun_family == AF_UNIX && (len = sizeof name) && getpeername(pair[0], (struct sockaddr *)&name, &len) == 0);
	MUST(ioctl(pair[0], FIONBIO, &on) == 0 && recv(pair[0], text, 16, 0) == -1 && errno == EAGAIN && shutdown(pair[0], SHUT_WR) == 0 && read(pair[1], text, 1) == 0);
	puts("events ok");
}
