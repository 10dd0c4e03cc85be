// Shared code of the probes: one JSON line per attempt, with the name of the errno.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <dirent.h>

// try prints the outcome of a call that returned r; "0" if it succeeded.
static long report(const char *call, long r) {
	int e = r < 0 ? errno : 0;
	printf("{\"id\":\"%s\",\"call\":\"%s\",\"errno\":\"%s\"}\n", ID, call, e ? strerrorname_np(e) : "0");
	fflush(stdout);
	return r;
}
#define TRY(name, call) report(name, (errno = 0, (long)(call)))
