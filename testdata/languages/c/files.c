/* Everything that a program does with its own files and directories. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utime.h>
#define MUST(x) do { if (!(x)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, strerror(errno)); exit(1); } } while (0)

static int gone(const char *name) { return access(name, F_OK) == -1 && errno == ENOENT; }
static int mode(const char *name) { struct stat s; return stat(name, &s) ? -1 : (int)(s.st_mode & 0777); }
static long size(const char *name) { struct stat s; return stat(name, &s) ? -1 : (long)s.st_size; }
static int walked;
static int walk(const char *name, const struct stat *s, int kind, struct FTW *at) { (void)name; (void)s; (void)kind; (void)at; walked++; return 0; }

static void byName(void) { /* ISO C and the calls that take names */
	FILE *f = fopen("a.txt", "w");
	MUST(f && fputs("hello", f) >= 0 && fflush(f) == 0 && fclose(f) == 0);
	MUST((f = fopen("a.txt", "a")) && fputs(", world", f) >= 0 && fclose(f) == 0);
	MUST(rename("a.txt", "b.txt") == 0 && gone("a.txt") && size("b.txt") == 12);
	umask(022);
	MUST(umask(022) == 022);
	MUST(mkdir("d", 0777) == 0 && mode("d") == 0755 && rename("b.txt", "d/b.txt") == 0);
	MUST(link("d/b.txt", "d/hard") == 0 && symlink("b.txt", "d/soft") == 0 && size("d/soft") == 12);
	char text[20] = "";
	MUST(readlink("d/soft", text, sizeof text) == 5 && strcmp(text, "b.txt") == 0);
	struct stat s;
	MUST(lstat("d/soft", &s) == 0 && S_ISLNK(s.st_mode));
	MUST(chmod("d/b.txt", 0640) == 0 && mode("d/hard") == 0640);
	MUST(truncate("d/b.txt", 5) == 0 && size("d/hard") == 5);
	struct utimbuf then = {1000, 2000};
	MUST(utime("d/b.txt", &then) == 0 && stat("d/b.txt", &s) == 0 && s.st_mtime == 2000);
	struct timeval times[2] = {{3000, 0}, {4000, 0}};
	MUST(utimes("d/b.txt", times) == 0 && stat("d/b.txt", &s) == 0 && s.st_mtime == 4000);
	struct statfs room;
	MUST(statfs("d", &room) == 0 && room.f_blocks > 0);
	struct statvfs same;
	MUST(statvfs(".", &same) == 0 && same.f_bsize > 0);
	int n = 0, fd = open("d", O_RDONLY | O_DIRECTORY);
	DIR *d = fdopendir(fd);
	MUST(d && fstatfs(dirfd(d), &room) == 0);
	while (readdir(d))
		n++;
	MUST(n == 5 && closedir(d) == 0); /* with . and .. */
	MUST(nftw("d", walk, 4, FTW_PHYS | FTW_CHDIR) == 0 && walked == 4);
	char here[64];
	MUST(chdir("d") == 0 && getcwd(here, sizeof here) && strcmp(here, "/box/d") == 0 && chdir("..") == 0);
	MUST(mkfifo("d/queue", 0600) == 0 && stat("d/queue", &s) == 0 && S_ISFIFO(s.st_mode));
	MUST(remove("d/b.txt") == 0 && unlink("d/hard") == 0 && remove("d/soft") == 0 && remove("d/queue") == 0 && rmdir("d") == 0 && gone("d"));
	int c = creat("made", 0600);
	MUST(c >= 0 && close(c) == 0 && remove("made") == 0);
}

static void below(void) { /* the calls that take a directory, as tools that copy trees use */
	MUST(mkdir("tree", 0700) == 0);
	int d = open("tree", O_RDONLY | O_DIRECTORY);
	MUST(d >= 0 && mkdirat(d, "sub", 0700) == 0);
	int f = openat(d, "sub/a", O_RDWR | O_CREAT | O_EXCL, 0600);
	MUST(f >= 0 && write(f, "12345678", 8) == 8);
	MUST(renameat(d, "sub/a", d, "a") == 0 && linkat(d, "a", d, "b", 0) == 0 && symlinkat("a", d, "c") == 0);
#ifdef __GLIBC__
	struct statx x;
	MUST(renameat2(d, "b", d, "e", RENAME_NOREPLACE) == 0 && statx(d, "a", 0, STATX_SIZE, &x) == 0 && x.stx_size == 8);
#else
	MUST(renameat(d, "b", d, "e") == 0);
#endif
	char text[8];
	MUST(readlinkat(d, "c", text, sizeof text) == 1 && faccessat(d, "e", R_OK, 0) == 0 && faccessat(d, "c", R_OK, AT_SYMLINK_NOFOLLOW) == 0);
	struct timespec times[2] = {{5000, 0}, {6000, 0}};
	struct stat s;
	MUST(fchmodat(d, "a", 0640, 0) == 0 && utimensat(d, "a", times, 0) == 0 && fstatat(d, "a", &s, 0) == 0 && s.st_mtime == 6000 && (s.st_mode & 0777) == 0640);
	MUST(mkfifoat(d, "queue", 0600) == 0 && unlinkat(d, "queue", 0) == 0);
	int left = 0;
	MUST(fchmod(f, 0600) == 0 && ftruncate(f, 4) == 0 && fsync(f) == 0 && fdatasync(f) == 0 && lseek(f, 0, SEEK_SET) == 0);
	MUST(ioctl(f, FIONREAD, &left) == 0 && left == 4);
	MUST(posix_fallocate(f, 0, 100) == 0 && fstat(f, &s) == 0 && s.st_size == 100);
	MUST(posix_fadvise(f, 0, 0, POSIX_FADV_NORMAL) == 0 && posix_fadvise(f, 0, 0, POSIX_FADV_SEQUENTIAL) == 0);
	MUST(posix_fadvise(f, 0, 0, POSIX_FADV_RANDOM) == 0 && posix_fadvise(f, 0, 0, POSIX_FADV_WILLNEED) == 0 && posix_fadvise(f, 0, 0, POSIX_FADV_NOREUSE) == 0);
	int home = open(".", O_RDONLY);
	MUST(home >= 0 && fchdir(d) == 0 && size("a") == 100 && fchdir(home) == 0);
	MUST(unlinkat(d, "a", 0) == 0 && unlinkat(d, "c", 0) == 0 && unlinkat(d, "e", 0) == 0 && unlinkat(d, "sub", AT_REMOVEDIR) == 0 && rmdir("tree") == 0);
}

int main(void) {
	byName();
	below();
	puts("files ok");
}
