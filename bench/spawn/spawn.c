// The plain cost of a program: posix_spawn and waitpid in a loop, nothing else.
// usage: spawn ROOT PROGRAM COUNT GAP_US; prints one latency in nanoseconds a line.
// ROOT is chrooted into, so that the very files of the image are run.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	long count = atol(argv[3]), gap = atol(argv[4]);
	long long *took = calloc(count, sizeof *took);
	if (chroot(argv[1]) || chdir("/")) {
		perror(argv[1]);
		return 1;
	}
	char *args[] = {argv[2], NULL}, *env[] = {"PATH=/usr/bin:/bin", NULL};
	for (long i = 0; i < count; i++) {
		if (gap)
			usleep(gap);
		long long t = now();
		pid_t pid;
		int status;
		int err = posix_spawn(&pid, argv[2], NULL, NULL, args, env);
		if (err || waitpid(pid, &status, 0) != pid || status != 0) {
			fprintf(stderr, "%s: %s, status %d\n", argv[2], strerror(err), status);
			return 1;
		}
		took[i] = now() - t;
	}
	for (long i = 0; i < count; i++)
		printf("%lld\n", took[i]);
	return 0;
}
