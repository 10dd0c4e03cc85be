/* Queries of a program about itself and its machine. */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <unistd.h>
#define MUST(x) do { if (!(x)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, strerror(errno)); exit(1); } } while (0)

static int deep(int n) { volatile char page[4096]; page[0] = n; return n ? deep(n - 1) + page[0] * 0 : 1; }

int main(void) {
	struct utsname names;
	struct sysinfo info;
	struct rusage used;
	struct rlimit stack;
	struct tms ticks;
	MUST(uname(&names) == 0 && strcmp(names.sysname, "Linux") == 0);
	MUST(sysinfo(&info) == 0 && info.totalram > 0 && times(&ticks) != -1 && getrusage(RUSAGE_SELF, &used) == 0);
	uid_t r, e, s;
	gid_t groups[64];
	MUST(getpid() > 0 && getppid() >= 0 && gettid() > 0 && getpgrp() >= 0 && getpgid(0) >= 0 && getsid(0) >= 0);
	MUST(getuid() == geteuid() && getgid() == getegid() && getresuid(&r, &e, &s) == 0 && r == e && getresgid(&r, &e, &s) == 0 && getgroups(64, groups) >= 0);
	MUST(setgid(getgid()) == 0 && setuid(getuid()) == 0 && setuid(0) == -1 && errno == EPERM); /* as in programs that drop privileges */

	/* a larger stack, as recursive programs request it */
	MUST(getrlimit(RLIMIT_NOFILE, &stack) == 0 && stack.rlim_cur > 0 && getrlimit(RLIMIT_STACK, &stack) == 0);
	stack.rlim_cur = 64 << 20;
	MUST(setrlimit(RLIMIT_STACK, &stack) == 0 && deep(8000) == 1);

	cpu_set_t cpus;
	MUST(sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) >= 1 && sysconf(_SC_NPROCESSORS_ONLN) >= 1);
	MUST(sched_getcpu() >= 0);
	char name[17] = "", bytes[300];
	MUST(pthread_setname_np(pthread_self(), "worker") == 0 && prctl(PR_GET_NAME, name) == 0 && strcmp(name, "worker") == 0);
	MUST(getrandom(bytes, sizeof bytes, 0) == sizeof bytes && getentropy(bytes, 256) == 0);
	MUST(isatty(0) == 0 && errno == ENOTTY && isatty(1) == 0 && errno == ENOTTY);

	/* memory: growth, release, hints for large tables */
	size_t n = 8 << 20;
	char *table = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(table != MAP_FAILED && madvise(table, n, MADV_HUGEPAGE) == 0 && madvise(table, n, MADV_NOHUGEPAGE) == 0 && madvise(table, n, MADV_SEQUENTIAL) == 0 && madvise(table, n, MADV_NORMAL) == 0);
	memset(table, 1, n);
	MUST((table = mremap(table, n, 2 * n, MREMAP_MAYMOVE)) != MAP_FAILED && table[n - 1] == 1);
	MUST(madvise(table, n, MADV_DONTNEED) == 0 && table[0] == 0 && madvise(table, n, MADV_FREE) == 0 && munmap(table, 2 * n) == 0);
#ifdef __GLIBC__
	void *end = sbrk(1 << 16);
	MUST(end != (void *)-1 && sbrk(0) == (char *)end + (1 << 16));
#endif
	puts("machine ok");
}
