/* A file of fixed-length records, read and written in place, by one process. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#define MUST(x) do { if (!(x)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, strerror(errno)); exit(1); } } while (0)

struct record { char name[12]; int count; };

int main(void) {
	char name[] = "/tmp/records-XXXXXX", where[64], link[64] = "";
	int f = mkstemp(name);
	MUST(f >= 0);
	struct record r[4] = {{"one", 1}, {"two", 2}, {"three", 3}, {"four", 4}}, got[2];
	struct iovec all[2] = {{r, 2 * sizeof *r}, {r + 2, 2 * sizeof *r}}, two[2] = {{got, sizeof *got}, {got + 1, sizeof *got}};
	MUST(writev(f, all, 2) == sizeof r && lseek(f, 0, SEEK_SET) == 0);
	MUST(readv(f, two, 2) == sizeof got && got[1].count == 2);
	r[2].count = 30;
	MUST(pwrite(f, r + 2, sizeof *r, 2 * sizeof *r) == sizeof *r && pread(f, got, sizeof *got, 2 * sizeof *r) == sizeof *got && got->count == 30);
	MUST(pwritev(f, two, 2, sizeof *r) == sizeof got && preadv(f, two, 2, 0) == sizeof got && got[1].count == 30);

	/* the same file as memory */
	struct record *map = mmap(0, sizeof r, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
	MUST(map != MAP_FAILED && madvise(map, sizeof r, MADV_RANDOM) == 0);
	map[3].count = 40;
	MUST(msync(map, sizeof r, MS_SYNC) == 0 && mprotect(map, sizeof r, PROT_READ) == 0 && munmap(map, sizeof r) == 0);
	FILE *s = fdopen(dup(f), "r");
	MUST(s && fseek(s, 3 * sizeof *r, SEEK_SET) == 0 && fread(got, sizeof *got, 1, s) == 1 && got->count == 40 && fclose(s) == 0);

	struct stat at;
	MUST(fstat(f, &at) == 0 && at.st_size == sizeof r && stat(name, &at) == 0 && lstat(name, &at) == 0);
	MUST(access(name, R_OK | W_OK) == 0 && eaccess(name, R_OK) == 0);
#ifdef __GLIBC__
	struct statx x;
	MUST(statx(AT_FDCWD, name, 0, STATX_SIZE, &x) == 0 && x.stx_size == sizeof r);
#endif
	snprintf(where, sizeof where, "/proc/self/fd/%d", f);
	MUST(readlink(where, link, sizeof link) > 0 && strncmp(link, name, sizeof name - 1) == 0);
	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	snprintf(where, sizeof where, "%d", f);
	MUST(dir >= 0 && readlinkat(dir, where, link, sizeof link) > 0);

	/* stdout to the file and back */
	int out = dup(1), flags = fcntl(f, F_GETFL);
	MUST(out >= 0 && flags >= 0 && fcntl(f, F_SETFL, flags | O_APPEND) == 0 && dup2(f, 1) == 1);
	MUST(printf("appended\n") == 9 && fflush(stdout) == 0 && dup3(out, 1, 0) == 1);
	MUST(fcntl(f, F_SETFD, FD_CLOEXEC) == 0 && fcntl(f, F_GETFD) == FD_CLOEXEC && fcntl(f, F_DUPFD, 20) == 20 && fcntl(f, F_DUPFD_CLOEXEC, 30) == 30);
	MUST(fstat(20, &at) == 0 && at.st_size == sizeof r + 9);
	char here[64];
	MUST(getcwd(here, sizeof here) && here[0] == '/');
	puts("records ok");
}
