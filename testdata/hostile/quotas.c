#define ID "quotas"
#include "probe.h"
// Exhausts every quota that the kernel keeps by user, prints how much that was, and holds it until
// its stdin ends. "keys" includes keys, whose calls end a run under the filter. With a second
// argument a child does all that first.
#include <mqueue.h>
#include <sys/inotify.h>
#include <sys/resource.h>

static void all(int keys) {
	int n = 0, p[2], held[2]; char name[40];
	struct rlimit r = {20, 20};
	setvbuf(stdout, 0, _IOFBF, 4096);
	for (pipe(p), n = 0; n < 300 && fcntl(p[0], F_SETPIPE_SZ, 1 << 20) > 0 && !pipe(p); n++); // pipe-user-pages-soft
	printf("pipe pages %d\n", n);
	sigset_t s; sigfillset(&s); sigprocmask(SIG_BLOCK, &s, 0);
	for (n = 0; n < 200000 && !sigqueue(getpid(), SIGRTMIN, (union sigval){0}); n++);
	printf("pending signals %d\n", n);
	for (n = 0; n < 500 && inotify_init1(IN_CLOEXEC) >= 0; n++);
	printf("inotify instances %d\n", n);
	for (n = 0; n < 100; n++) { snprintf(name, 40, "/quota-%d-%d", getpid(), n); if (mq_open(name, O_CREAT | O_RDWR, 0600, 0) < 0) break; }
	printf("queues %d\n", n);
	for (n = 0; keys && n < 2000; n++) { snprintf(name, 40, "quota-%d", n); if (syscall(SYS_add_key, "user", name, name, 20L, -2L) < 0) break; }
	printf("keys %d\n", n);
	setrlimit(RLIMIT_NPROC, &r);
	pipe(held); // a process that waits on it ends with this process
	for (n = 0; n < 40; n++) { int c = fork(); if (c < 0) break; if (!c) { close(held[1]); read(held[0], name, 1); _exit(0); } }
	printf("processes %d\n", n);
	fflush(stdout);
}
int main(int argc, char **argv) { char b; int first[2], last[2], keys = argc > 1 && !strcmp(argv[1], "keys");
	if (argc > 2) { pipe(first); pipe(last);
		if (!fork()) { close(last[1]); dup2(last[0], 0); all(keys); write(first[1], "", 1); while (read(0, &b, 1) > 0); _exit(0); }
		read(first[0], &b, 1); close(last[0]); puts("second"); }
	all(keys);
	while (read(0, &b, 1) > 0);
	return 0; }
