// Loaded before libc by LD_PRELOAD into a compiler of an image, which warms up: it compiles some sources of
// the image and then opens the file that its command names last, the mark. The driver writes a snapshot to
// BRIG_TEMPLATE then. In each process that executes the snapshot this open fails, as if there was no file,
// and the compiler goes on: it reads the command of the run from /proc/self/cmdline.
//
// The driver knows no runtime. Nothing of a run's own is drawn anew but what the C library and the kernel
// note of a process (start.c): a compiler's output depends on no clock, seed or number of a process, and the
// trial compares it with that of the ordinary start.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "script.h"

static int begun; // the process executes the snapshot

// on_first_thread is a signal handler: the snapshot is one of the first thread's stack.
static void on_first_thread(int sig)
{
	(void)sig;
	script_write();
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &begun, FUTEX_WAKE_PRIVATE, 1);
}

// go_on_as_before has the kernel note again what exec has it forget, before another thread goes on: .NET ends if a barrier
// that it has registered is refused. A runtime that has not registered it loses nothing.
static int go_on_as_before(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	return 0;
}

// at_mark writes the snapshot, and returns in each process that executes it. A thread other than the first
// is a part of the snapshot while it waits here, as it would be anywhere.
static void at_mark(void)
{
	start_executable();
	script.threads = 1;
	script.check = go_on_as_before;
	if (syscall(SYS_gettid) == getpid()) {
		script_write();
		return;
	}
	struct sigaction handler = {.sa_handler = on_first_thread, .sa_flags = SA_RESTART}, old;
	sigfillset(&handler.sa_mask);
	sigaction(SIGRTMAX, &handler, &old);
	syscall(SYS_tgkill, getpid(), getpid(), SIGRTMAX);
	while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &begun, FUTEX_WAIT_PRIVATE, 0, NULL);
	sigaction(SIGRTMAX, &old, NULL);
}

// open_file is both functions below, which are one on this architecture.
static int open_file(const char *path, int flags, int mode)
{
	if (!script_reached(path))
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	at_mark();
	errno = ENOENT;
	return -1;
}

// In place of the C library's.
EXPORTED int open(const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	int mode = va_arg(more, int);
	va_end(more);
	return open_file(path, flags, mode);
}

EXPORTED int open64(const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	int mode = va_arg(more, int);
	va_end(more);
	return open_file(path, flags, mode);
}
