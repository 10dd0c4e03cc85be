// Runs before Go: see private_mounts.go.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "private_mounts.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U
#endif
#ifndef FS_NOATIME_FL
#define FS_NOATIME_FL 0x80
#endif

const char *brigd_failed_step;
int brigd_failed_errno;

// failed notes the step for Go, which reports it.
static void failed(const char *step)
{
	brigd_failed_step = step;
	brigd_failed_errno = errno;
}

// serves guesses from the arguments whether this process becomes an agent. Go parses them; if it
// knows better, it executes brigd again with PRIVATE_MOUNTS_WANTED.
static int serves(int argc, char **argv)
{
	static const char *const others[] = {"--help", "-h", "--version", "--man", "--sweep", "-test."};
	if (argc > 1 && argv[1][0] != '-')
		return 0; // a process of a cell or of an import: init.go
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof others / sizeof *others; k++)
			if (strncmp(argv[i], others[k], strlen(others[k])) == 0)
				return 0;
	return 1;
}

// seal adds every seal. The kernel refuses while anything holds a page: see runtime/linux/memfd.go.
static int seal(int fd)
{
	static const struct timespec pause = {0, 10 * 1000 * 1000};
	for (int tries = 0; tries < 1000; tries++) {
		if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0)
			return 0;
		if (errno != EBUSY)
			return -1;
		nanosleep(&pause, NULL);
	}
	errno = EBUSY;
	return -1;
}

// sealed_copy returns a copy of this program that nobody can change, as linux.SealedCopy makes it,
// or -1.
static int sealed_copy(void)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (self < 0) {
		failed("open /proc/self/exe");
		return -1;
	}

	int fd = memfd_create("brigd", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	if (fd < 0 && errno == EINVAL) // before Linux 6.3
		fd = memfd_create("brigd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0) {
		failed("memfd_create");
		return -1;
	}

	ssize_t n;
	do
		n = sendfile(fd, self, NULL, 1 << 30);
	while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0) {
		failed("copy brigd");
		return -1;
	}

	int no_access_time = FS_NOATIME_FL;
	if (fchmod(fd, 0555) < 0)
		failed("chmod the copy of brigd");
	else if (ioctl(fd, FS_IOC_SETFLAGS, &no_access_time) < 0 && errno != ENOTTY && errno != EOPNOTSUPP)
		failed("FS_IOC_SETFLAGS");
	else if (seal(fd) < 0)
		failed("seal the copy of brigd");
	return brigd_failed_step == NULL ? fd : -1;
}

// made returns the environment with the mark of the second process image.
static char **made(char **envp)
{
	size_t n = 0, kept = 0;
	while (envp[n] != NULL)
		n++;
	char **out = calloc(n + 2, sizeof *out);
	if (out == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (strncmp(envp[i], PRIVATE_MOUNTS "=", sizeof PRIVATE_MOUNTS) != 0)
			out[kept++] = envp[i];
	out[kept] = PRIVATE_MOUNTS "=" PRIVATE_MOUNTS_MADE;
	return out;
}

// The C library passes these arguments to constructors: glibc does, also in static programs.
__attribute__((constructor)) static void private_mounts(int argc, char **argv, char **envp)
{
	const char *mark = getenv(PRIVATE_MOUNTS);
	if (mark != NULL && strcmp(mark, PRIVATE_MOUNTS_WANTED) != 0)
		return; // the second process image
	if (mark == NULL && (geteuid() != 0 || !serves(argc, argv)))
		return;

	if (unshare(CLONE_NEWNS) < 0) {
		failed("unshare mount namespace");
		return;
	}
	if (mount("", "/", "", MS_REC | MS_PRIVATE, "") < 0) {
		failed("make mounts private");
		return;
	}

	int fd = sealed_copy();
	if (fd < 0)
		return;

	char path[32], **env = made(envp);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (env != NULL)
		execve(path, argv, env);
	failed("exec the copy of brigd");
}
