#define ID "SEC-40"
#include "probe.h"
// Children of an unusual kind, and handles of them, which fork, posix_spawn and pthread_create do
// not request.
static long child(unsigned long flags) {
	int handle = -1;
	long p = syscall(SYS_clone, flags | SIGCHLD, 0L, &handle, 0L, 0L);
	if (p == 0) _exit(0);
	if (p > 0) waitpid(p, 0, __WALL);
	return p;
}
static long silent(void) {
	long p = syscall(SYS_clone, 0UL, 0L, 0L, 0L, 0L);
	if (p == 0) _exit(0);
	if (p > 0) { waitpid(p, 0, __WALL); errno = 0; }
	return p;
}
int main(void) {
	TRY("handle", child(CLONE_PIDFD)); TRY("handle high", child(1UL << 32 | CLONE_PIDFD));
	TRY("untraced", child(CLONE_UNTRACED)); TRY("traced", child(CLONE_PTRACE)); TRY("parent", child(CLONE_PARENT));
	TRY("io", child(CLONE_IO)); TRY("files", child(CLONE_FILES)); TRY("fs", child(CLONE_FS)); TRY("semaphores", child(CLONE_SYSVSEM));
	TRY("no signal", silent());
	siginfo_t s; int f = TRY("open handle", syscall(434L, (long)getpid(), 0L));
	TRY("wait for handle", syscall(SYS_waitid, 3L, (long)f, &s, (long)(WEXITED | WNOHANG), 0L));
	TRY("fork", child(0)); /* this one is allowed */
	return 0; }
