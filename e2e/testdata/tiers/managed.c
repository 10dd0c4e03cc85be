/* What compilers and runtimes with a compiler in them do beside. */
#include "needs.h"
#include <linux/futex.h>
#include <sys/inotify.h>

static void *page(void) { return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
NEED(sched_setaffinity) { char b[128]; long n = does(sched_getaffinity, 0, sizeof b, b); return n > 0 && does(sched_setaffinity, 0, n, b) == 0; }
NEED(mlock) { return does(mlock, page(), 4096) == 0; }
NEED(mlock2) { return does(mlock2, page(), 4096, 0) == 0; }
NEED(munlock) { return does(munlock, page(), 4096) == 0; }
NEED(get_mempolicy) { int mode; return does(get_mempolicy, &mode, 0, 0, 0, 0) == 0; }
/* a processor without protection keys has none to give: the kernel says so, and not the filter */
NEED(pkey_alloc) { long k = does(pkey_alloc, 0, 0); return k > 0 || errno == ENOSPC || errno == EINVAL; }
NEED(pkey_free) { return does(pkey_free, 15) == -1 && errno == EINVAL; }
NEED(pkey_mprotect) { return does(pkey_mprotect, page(), 4096, PROT_READ, -1) == 0; }
NEED(inotify_init1) { return does(inotify_init1, IN_CLOEXEC) >= 0; }
NEED(inotify_add_watch) { return does(inotify_add_watch, inotify_init1(0), ".", IN_CREATE) >= 0; }
NEED(inotify_rm_watch) { int i = inotify_init1(0); return does(inotify_rm_watch, i, inotify_add_watch(i, ".", IN_CREATE)) == 0; }
NEED(futex_waitv) { unsigned word = 1; struct futex_waitv w = {.val = 0, .uaddr = (uintptr_t)&word, .flags = 2 /* 32 bits */}; return does(futex_waitv, &w, 1, 0, 0, 0) == -1 && errno == EAGAIN; }
NEED(pidfd_open) { return does(pidfd_open, getpid(), 0) >= 0; }
static void note(int sig) { (void)sig; }
NEED(pidfd_send_signal) { on(SIGUSR1, note); return does(pidfd_send_signal, syscall(SYS_pidfd_open, getpid(), 0), SIGUSR1, 0, 0) == 0; }
NEED(setresuid) { return does(setresuid, -1, 1000, -1) == 0; }
NEED(setresgid) { return does(setresgid, -1, 1000, -1) == 0; }
