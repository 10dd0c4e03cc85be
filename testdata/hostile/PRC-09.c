#define ID "PRC-09"
#include "probe.h"
#include <sys/resource.h>
int main(int c, char **v) { int cores = 0, n = c > 1 ? atoi(v[1]) : 50; struct rlimit l, more = {1 << 20, 1 << 20}, none = {0, 0}; getrlimit(RLIMIT_CORE, &l); printf("limit %ld %ld\n", (long)l.rlim_cur, (long)l.rlim_max);
	TRY("raise", prlimit(0, RLIMIT_CORE, &more, 0)); if (l.rlim_max == 1) TRY("lower", prlimit(0, RLIMIT_CORE, &none, 0)); char *big = mmap(0, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); memset(big, 7, 16 << 20);
	for (int i = 0; i < n; i++) { int s; fflush(stdout); if (!fork()) abort(); if (wait(&s) < 0 || !WIFSIGNALED(s) || WTERMSIG(s) != SIGABRT) return 3; cores += !!WCOREDUMP(s); }
	printf("aborted %d, cores %d\n", n, cores); return 0; }
