/* Bytes, paths, descriptors, memory: what every tier has. */
#include "needs.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sys/uio.h>

static int filled(void) { int f = scratch("f"); return write(f, "hello", 5) == 5 && lseek(f, 0, SEEK_SET) == 0 ? f : -1; }

NEED(read) { char b[5]; return does(read, filled(), b, 5) == 5; }
NEED(write) { return does(write, scratch("f"), "x", 1) == 1; }
NEED(readv) { char b[5]; struct iovec v = {b, 5}; return does(readv, filled(), &v, 1) == 5; }
NEED(writev) { struct iovec v = {"hello", 5}; return does(writev, scratch("f"), &v, 1) == 5; }
NEED(pread64) { char b[5]; return does(pread64, filled(), b, 4, 1) == 4; }
NEED(pwrite64) { return does(pwrite64, scratch("f"), "hello", 5, 7) == 5; }
NEED(preadv) { char b[5]; struct iovec v = {b, 4}; return does(preadv, filled(), &v, 1, 1, 0) == 4; }
NEED(pwritev) { struct iovec v = {"hello", 5}; return does(pwritev, scratch("f"), &v, 1, 7, 0) == 5; }
NEED(lseek) { return does(lseek, scratch("f"), 3, SEEK_SET) == 3; }
NEED(close) { int f = scratch("f"); return does(close, f) == 0 && fcntl(f, F_GETFD) == -1; }
NEED(close_range) { int f = scratch("f"); return does(close_range, f, f, 0) == 0 && fcntl(f, F_GETFD) == -1; }
NEED(fstat) { struct stat s; return does(fstat, 0, &s) == 0; }
NEED(stat) { struct stat s; return does(stat, "/", &s) == 0 && S_ISDIR(s.st_mode); }
NEED(lstat) { struct stat s; return does(lstat, "/", &s) == 0 && S_ISDIR(s.st_mode); }
NEED(newfstatat) { struct stat s; return does(newfstatat, AT_FDCWD, "/", &s, 0) == 0 && S_ISDIR(s.st_mode); }
NEED(statx) { struct statx s; return does(statx, AT_FDCWD, "/", 0, STATX_TYPE, &s) == 0 && S_ISDIR(s.stx_mode); }
NEED(access) { return does(access, "/", R_OK) == 0; }
NEED(faccessat) { return does(faccessat, AT_FDCWD, "/", R_OK) == 0; }
NEED(faccessat2) { return does(faccessat2, AT_FDCWD, "/", R_OK, AT_EACCESS) == 0; }
NEED(open) { return does(open, "f", O_RDWR | O_CREAT, 0600) >= 0; }
NEED(openat) { return does(openat, AT_FDCWD, "f", O_RDWR | O_CREAT, 0600) >= 0; }
NEED(readlink) { char b[99]; return does(readlink, "/proc/self/exe", b, 99) > 0; }
NEED(readlinkat) { char b[99]; return does(readlinkat, AT_FDCWD, "/proc/self/exe", b, 99) > 0; }
NEED(getcwd) { char b[99]; return does(getcwd, b, 99) > 1; }
NEED(dup) { return does(dup, 0) > 2; }
NEED(dup2) { return does(dup2, 0, 9) == 9; }
NEED(dup3) { return does(dup3, 0, 9, O_CLOEXEC) == 9; }
NEED(poll) { struct pollfd p = {1, POLLOUT}; return does(poll, &p, 1, 0) >= 0; }
NEED(ppoll) { struct pollfd p = {1, POLLOUT}; struct timespec t = {0}; return does(ppoll, &p, 1, &t, 0, 8) >= 0; }
NEED(select) { struct timeval t = {0}; return does(select, 0, 0, 0, 0, &t) == 0; }
NEED(pselect6) { struct timespec t = {0}; return does(pselect6, 0, 0, 0, 0, &t, 0) == 0; }
NEED(ioctl) { int n = 0; return does(ioctl, 0, 0x541b /* FIONREAD */, &n) == 0; }
NEED(fcntl) { return does(fcntl, 0, F_GETFD) >= 0; }

static void *page(void) { return mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
NEED(mmap) { return page() != MAP_FAILED; }
NEED(munmap) { return does(munmap, page(), 8192) == 0; }
NEED(mremap) { return does(mremap, page(), 8192, 65536, MREMAP_MAYMOVE) > 0; }
NEED(mprotect) { return does(mprotect, page(), 4096, PROT_READ) == 0; }
NEED(msync) { return does(msync, page(), 4096, MS_SYNC) == 0; }
NEED(madvise) { return does(madvise, page(), 4096, MADV_DONTNEED) == 0; }
NEED(brk) { long now = does(brk, 0); return now > 0 && does(brk, now + 65536) == now + 65536; }

NEED(futex) { int word = 0; return does(futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0) == 0; }
NEED(set_robust_list) { long head[3] = {(long)head, 0, 0}; return does(set_robust_list, head, sizeof head) == 0; }
NEED(get_robust_list) { void *head; size_t size; return does(get_robust_list, 0, &head, &size) == 0; }
NEED(rseq) { return does(rseq, 0, 0, 0, 0) == -1 && (errno == EINVAL || errno == EBUSY); } /* the C library has its own */
NEED(set_tid_address) { int tid; return does(set_tid_address, &tid) == getpid(); }
NEED(membarrier) { return does(membarrier, 0 /* QUERY */, 0, 0) >= 0; }
NEED(arch_prctl) { unsigned long base = 0; return does(arch_prctl, 0x1003 /* GET_FS */, &base) == 0 && base; }
static void *thread(void *x) { return x; }
static int joined(void) { pthread_t t; static int it; void *x = 0; return pthread_create(&t, 0, thread, &it) == 0 && pthread_join(t, &x) == 0 && x == &it; }
NEED(clone) { return joined(); }
NEED(exit) { return joined(); } /* of a thread; one that cannot end is waited for for ever */
NEED(exit_group) { does(exit_group, 0); return 0; }
NEED(execve) { char *v[] = {"needs", "getpid", 0}, *e[] = {0}; does(execve, "/proc/self/exe", v, e); return 0; }
