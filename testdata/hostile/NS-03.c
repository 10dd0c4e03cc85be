#define ID "NS-03"
#include "probe.h"
int main(void) {
	static const struct { const char *n; unsigned long f; } ns[] = {{"NEWNS",0x20000},{"NEWCGROUP",0x2000000},{"NEWUTS",0x4000000},{"NEWIPC",0x8000000},{"NEWUSER",0x10000000},{"NEWPID",0x20000000},{"NEWNET",0x40000000},{"all",0x7e020000}};
	char name[40];
	for (int i = 0; i < 8; i++) {
		pid_t p = fork();
		if (p == 0) { snprintf(name, 40, "unshare %s", ns[i].n); TRY(name, unshare(ns[i].f)); _exit(0); }
		waitpid(p, 0, 0);
		snprintf(name, 40, "clone %s", ns[i].n);
		p = TRY(name, syscall(SYS_clone, ns[i].f | SIGCHLD, 0, 0, 0, 0));
		if (p == 0) _exit(0);
		if (p > 0) waitpid(p, 0, 0);
	}
	return 0;
}
