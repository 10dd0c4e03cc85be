// Burns a known amount of processor time in a known way, and prints how much it
// was: burn WAY MS. It reads the kernel's own clocks, from inside.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static volatile unsigned long sink;

static void *burn(void *ms)
{
	long long until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (long)ms * 1000000LL;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		for (int i = 0; i < 2000; i++)
			sink += i;
	return 0;
}

static long long of_children(void)
{
	struct rusage u;
	getrusage(RUSAGE_CHILDREN, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000LL + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000LL;
}

// family burns ms in each of n children, or, if depth is above 1, makes n children that
// do the same with depth - 1.
static void family(int n, int depth, long ms)
{
	for (int i = 0; i < n; i++)
		if (fork() == 0) {
			if (depth > 1)
				family(n, depth - 1, ms);
			else
				burn((void *)ms);
			_exit(0);
		}
	while (wait(0) > 0) {}
}

int main(int argc, char **argv)
{
	const char *way = argc > 2 ? argv[1] : "";
	long ms = argc > 2 ? atol(argv[2]) : 0;
	if (!strncmp(way, "threads", 7)) {
		pthread_t t[64];
		int n = atoi(way + 7);
		for (int i = 0; i < n - 1; i++)
			pthread_create(&t[i], 0, burn, (void *)(ms / n));
		burn((void *)(ms / n));
		for (int i = 0; i < n - 1; i++)
			pthread_join(t[i], 0);
	} else if (!strcmp(way, "children")) {
		family(4, 1, ms / 4);
	} else if (!strcmp(way, "grandchildren")) {
		family(2, 2, ms / 4);
	} else if (!strcmp(way, "work")) { // the same amount of work each time, however long it takes
		for (long i = 0; i < ms * 400000; i++)
			sink += i;
	} else {
		return 2;
	}
	printf("%lld\n", clock_ns(CLOCK_PROCESS_CPUTIME_ID) + of_children());
	return 0;
}
