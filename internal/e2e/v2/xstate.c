// Preloaded into linux.uml. User-mode Linux 6.1 reads and writes its processes' extended registers
// through a buffer of a fixed size. On a CPU with AMX the host's state is longer, PTRACE_SETREGSET
// answers EFAULT to a short one, and the kernel then panics ("ptrace set fp regs failed, errno =
// 14"). So a short write is merged into the current state, and the whole state is written back.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { STATE_MAX = 64 * 1024 };

static long set_xstate(long pid, void *kind, const struct iovec *given)
{
	static _Thread_local char state[STATE_MAX];
	struct iovec whole = { state, sizeof state };

	if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, kind, &whole) < 0)
		return -1;
	memcpy(state, given->iov_base,
	       given->iov_len < whole.iov_len ? given->iov_len : whole.iov_len);
	return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, kind, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list args;
	va_start(args, request);
	long pid = va_arg(args, pid_t);
	void *addr = va_arg(args, void *);
	void *data = va_arg(args, void *);
	va_end(args);

	if (request == PTRACE_SETREGSET && (long)addr == NT_X86_XSTATE)
		return set_xstate(pid, addr, data);
	if (request >= PTRACE_PEEKTEXT && request <= PTRACE_PEEKUSER) {
		// The C function returns the word, the system call stores it.
		long word;
		if (syscall(SYS_ptrace, request, pid, addr, &word) < 0)
			return -1;
		errno = 0;
		return word;
	}
	return syscall(SYS_ptrace, request, pid, addr, data);
}
