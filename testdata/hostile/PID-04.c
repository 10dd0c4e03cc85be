#define ID "PID-04"
#include "probe.h"
// Five chains of processes; each process is created by one that is about to end.
int main(void) { volatile long *n = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 5; i++) if (!fork()) { setsid(); for (;;) { if (fork()) _exit(0); __sync_fetch_and_add(n, 1); } }
	for (int i = 0; i < 1000 && *n < 20; i++) usleep(1000); puts(*n < 20 ? "idle" : "chains at work"); return 0; }
