/* Directories, files to write, links: from the tier default on. */
#include "needs.h"
#include <linux/openat2.h>
#include <sys/sendfile.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <utime.h>

static int dir(void) { mkdir("d", 0700); return open("d", O_RDONLY | O_DIRECTORY); }
static int gone(const char *name) { return access(name, F_OK) == -1 && errno == ENOENT; }
static int there(const char *name) { struct stat s; return lstat(name, &s) == 0; }
static long size(int f) { struct stat s; return fstat(f, &s) == 0 ? s.st_size : -1; }
static int mode(const char *name) { struct stat s; return stat(name, &s) == 0 ? s.st_mode & 0777 : -1; }

NEED(getdents) { char b[512]; return does(getdents, dir(), b, sizeof b) > 0; }
NEED(getdents64) { char b[512]; return does(getdents64, dir(), b, sizeof b) > 0; }
NEED(chdir) { return does(chdir, "/") == 0; }
NEED(fchdir) { return does(fchdir, dir()) == 0; }
NEED(unlink) { scratch("u"); return does(unlink, "u") == 0 && gone("u"); }
NEED(unlinkat) { scratch("u"); return does(unlinkat, AT_FDCWD, "u", 0) == 0 && gone("u"); }
NEED(rename) { scratch("u"); return does(rename, "u", "v") == 0 && there("v"); }
NEED(renameat) { scratch("u"); return does(renameat, AT_FDCWD, "u", AT_FDCWD, "v") == 0 && there("v"); }
NEED(renameat2) { scratch("u"); return does(renameat2, AT_FDCWD, "u", AT_FDCWD, "v", 0) == 0 && there("v"); }
NEED(mkdir) { return does(mkdir, "m", 0700) == 0 && there("m"); }
NEED(mkdirat) { return does(mkdirat, AT_FDCWD, "m", 0700) == 0 && there("m"); }
NEED(rmdir) { close(dir()); return does(rmdir, "d") == 0 && gone("d"); }
NEED(symlink) { return does(symlink, "/", "s") == 0 && there("s"); }
NEED(symlinkat) { return does(symlinkat, "/", AT_FDCWD, "s") == 0 && there("s"); }
NEED(link) { scratch("u"); return does(link, "u", "l") == 0 && there("l"); }
NEED(linkat) { scratch("u"); return does(linkat, AT_FDCWD, "u", AT_FDCWD, "l", 0) == 0 && there("l"); }
NEED(ftruncate) { int f = scratch("u"); return does(ftruncate, f, 99) == 0 && size(f) == 99; }
NEED(truncate) { int f = scratch("u"); return does(truncate, "u", 99) == 0 && size(f) == 99; }
NEED(fallocate) { int f = scratch("u"); return does(fallocate, f, 0, 0, 4096) == 0 && size(f) == 4096; }
NEED(fsync) { return does(fsync, scratch("u")) == 0; }
NEED(fdatasync) { return does(fdatasync, scratch("u")) == 0; }
NEED(umask) { return does(umask, 077) >= 0 && does(umask, 0) == 077; }
NEED(chmod) { scratch("u"); return does(chmod, "u", 0700) == 0 && mode("u") == 0700; }
NEED(fchmod) { return does(fchmod, scratch("u"), 0700) == 0 && mode("u") == 0700; }
NEED(fchmodat) { scratch("u"); return does(fchmodat, AT_FDCWD, "u", 0700) == 0 && mode("u") == 0700; }
NEED(fchmodat2) { scratch("u"); return does(fchmodat2, AT_FDCWD, "u", 0700, 0) == 0 && mode("u") == 0700; }
NEED(utimensat) { scratch("u"); return does(utimensat, AT_FDCWD, "u", 0, 0) == 0; }
NEED(utimes) { scratch("u"); return does(utimes, "u", 0) == 0; }
NEED(utime) { scratch("u"); return does(utime, "u", 0) == 0; }
NEED(fadvise64) { return does(fadvise64, scratch("u"), 0, 0, POSIX_FADV_SEQUENTIAL) == 0; }
NEED(statfs) { struct statfs s; return does(statfs, ".", &s) == 0; }
NEED(fstatfs) { struct statfs s; return does(fstatfs, scratch("u"), &s) == 0; }
NEED(openat2) { struct open_how h = {.flags = O_RDONLY, .resolve = RESOLVE_BENEATH}; scratch("u"); return does(openat2, AT_FDCWD, "u", &h, sizeof h) >= 0; }
NEED(memfd_create) { return does(memfd_create, "m", MFD_CLOEXEC) >= 0; }
NEED(flock) { return does(flock, scratch("u"), 2 /* LOCK_EX */) == 0; }
static int five(void) { int f = scratch("u"); write(f, "hello", 5); lseek(f, 0, SEEK_SET); return f; }
NEED(sendfile) { int f = five(); return does(sendfile, scratch("v"), f, 0, 5) == 5; }
NEED(copy_file_range) { int f = five(); return does(copy_file_range, f, 0, scratch("v"), 0, 5, 0) == 5; }
NEED(mknod) { return does(mknod, "p", S_IFIFO | 0600, 0) == 0 && there("p"); }
NEED(mknodat) { return does(mknodat, AT_FDCWD, "p", S_IFIFO | 0600, 0) == 0 && there("p"); }
