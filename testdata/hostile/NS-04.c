#define ID "NS-04"
#include "probe.h"
#include <linux/sched.h>
#include <pthread.h>
static void *idle(void *x) { return x; }
static void make(const char *name, unsigned long flags) {
	struct clone_args a = {.flags = flags, .exit_signal = SIGCHLD};
	long p = syscall(SYS_clone3, &a, sizeof a);
	if (!p) _exit(0);
	if (report(name, p) > 0) waitpid(p, 0, 0);
}
int main(void) {
	pthread_t t;
	make("clone3", 0);
	make("clone3 NEWUSER", CLONE_NEWUSER);
	errno = pthread_create(&t, 0, idle, 0); // ENOSYS, never EPERM, or it would not fall back
	report("pthread_create", errno ? -1 : 0);
	pid_t p = fork();
	if (!p) _exit(0);
	report("fork", p);
	return 0;
}
