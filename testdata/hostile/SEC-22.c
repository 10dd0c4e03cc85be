#define ID "SEC-22"
#include "probe.h"
int main(void) { pid_t p = fork(); if (!p) { for (int i = 0; i < 30; i++) usleep(100000); _exit(0); } puts("begin"); fflush(stdout); long r = TRY("seize own child", syscall(SYS_ptrace, 0x4206L, (long)p, 0L, 0L)); kill(p, SIGKILL); waitpid(p, 0, 0); return 0; }
