#define ID "PID-09"
#include "probe.h"
int main(void) { int s[] = {SIGTERM, SIGHUP, SIGUSR1, SIGSEGV, SIGSTOP, SIGKILL}; pid_t p = fork(); char b[32]; if (!p) { for (int i = 0; i < 30; i++) usleep(100000); _exit(0); }
	for (int i = 0; i < 6; i++) { sprintf(b, "first %d", s[i]); TRY(b, kill(1, s[i])); } TRY("own child", kill(p, SIGKILL)); waitpid(p, 0, 0); puts("alive"); return 0; }
