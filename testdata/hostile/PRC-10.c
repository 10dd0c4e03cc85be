#define ID "PRC-10"
#include "probe.h"
#include <sys/mount.h>
#include <sys/xattr.h>
#include <time.h>
// The files of the machine in /proc: they cannot be changed, tell nothing of what others do, and lead to no other file.
static const char *const names[] = {"/proc/cpuinfo", "/proc/stat", "/proc/meminfo", "/proc/loadavg"};
enum { N = sizeof names / sizeof *names };
static void change(const char *name) {
	char what[80];
	snprintf(what, sizeof what, "write %s", name); TRY(what, open(name, O_WRONLY));
	snprintf(what, sizeof what, "truncate %s", name); TRY(what, truncate(name, 0));
	snprintf(what, sizeof what, "chmod %s", name); TRY(what, chmod(name, 0666));
	snprintf(what, sizeof what, "unlink %s", name); TRY(what, unlink(name));
	snprintf(what, sizeof what, "rename %s", name); TRY(what, rename(name, "/tmp/mine"));
	snprintf(what, sizeof what, "times %s", name); TRY(what, utimensat(AT_FDCWD, name, 0, 0));
	snprintf(what, sizeof what, "unmount %s", name); TRY(what, umount2(name, MNT_DETACH));
}
int main(void) {
	static char before[N][1 << 16], after[1 << 16]; ssize_t n[N]; int held[N], same = 1;
	for (int i = 0; i < N; i++) change(names[i]);
	for (int i = 0; i < N; i++) { held[i] = open(names[i], O_RDONLY); n[i] = read(held[i], before[i], sizeof *before); }
	for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end;) getppid();
	for (int i = 0; i < N; i++) same &= n[i] > 0 && pread(held[i], after, sizeof after, 0) == n[i] && !memcmp(after, before[i], n[i]);
	printf("unchanged %d\n", same);
	int proc = open("/proc", O_RDONLY | O_DIRECTORY);
	TRY("uptime of /proc", openat(proc, "uptime", O_RDONLY));
	TRY("vmstat of /proc", openat(proc, "self/../vmstat", O_RDONLY));
	TRY("sys of /proc", openat(proc, "sys/kernel/core_pattern", O_RDONLY));
	TRY("uptime next to stat", open("/proc/self/root/proc/uptime", O_RDONLY));
	return 0;
}
