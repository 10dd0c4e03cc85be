// The plain cost of a program: posix_spawn and waitpid in a loop, nothing else.
// usage: spawn ROOT BOX CPUS COUNT GAP_US PROGRAM [ARG...]; prints one latency in
// nanoseconds per line. It chroots into ROOT, so that the same files of the image are
// run; BOX, unless -, is mounted at /box, in a separate mount namespace; CPUS is
// "one" or "all": how many processors the programs may use.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int enter(const char *root, const char *box)
{
	char at[4096];
	if (strcmp(box, "-") != 0) {
		snprintf(at, sizeof at, "%s/box", root);
		if (unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount(box, at, NULL, MS_BIND, NULL))
			return -1;
		snprintf(at, sizeof at, "%s/tmp", root);
		if (mount("tmp", at, "tmpfs", 0, NULL))
			return -1;
		snprintf(at, sizeof at, "%s/proc", root);
		if (mount("proc", at, "proc", 0, NULL))
			return -1;
		snprintf(at, sizeof at, "%s/dev", root);
		if (mount("/dev", at, NULL, MS_BIND, NULL))
			return -1;
	}
	return chroot(root) || chdir(strcmp(box, "-") != 0 ? "/box" : "/") ? -1 : 0;
}

int main(int argc, char **argv)
{
	if (argc < 7)
		return 2;
	long count = atol(argv[4]), gap = atol(argv[5]);
	long long *took = calloc(count, sizeof *took);
	if (enter(argv[1], argv[2])) {
		perror(argv[1]);
		return 1;
	}
	char **args = argv + 6, *env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/box", "TMPDIR=/tmp", "LANG=C.UTF-8", NULL};
	if (strcmp(argv[3], "one") == 0) {
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(sched_getcpu(), &one);
		if (sched_setaffinity(0, sizeof one, &one)) {
			perror("sched_setaffinity");
			return 1;
		}
	}
	posix_spawn_file_actions_t quiet; // keeps the programs' output out of ours
	posix_spawn_file_actions_init(&quiet);
	if (strcmp(argv[2], "-") != 0)
		posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	for (long i = 0; i < count; i++) {
		if (gap)
			usleep(gap);
		long long t = now();
		pid_t pid;
		int status;
		int err = posix_spawnp(&pid, args[0], &quiet, NULL, args, env);
		if (err || waitpid(pid, &status, 0) != pid || status != 0) {
			fprintf(stderr, "%s: %s, status %d\n", args[0], strerror(err), status);
			return 1;
		}
		took[i] = now() - t;
	}
	for (long i = 0; i < count; i++)
		printf("%lld\n", took[i]);
	return 0;
}
