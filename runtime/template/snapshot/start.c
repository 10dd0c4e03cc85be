#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "descriptors.h"
#include "start.h"
#include "threads.h"

extern char **environ;
extern void *__curbrk, *__libc_stack_end;
extern const ptrdiff_t __rseq_offset; // glibc 2.35

static char name[16];          // of the process: the kernel would take that of the template's file
static stack_t signal_stack;   // of the first thread: the kernel forgets it at exec

const char *start_write(const char *path, char **argv, void (*resume)(int, char **, char **), int returns, int threads)
{
	struct snapshot s = {.resume = resume, .environ = &environ, .brk = &__curbrk, .code = (void *)getrlimit,
		.rseq = (char *)__builtin_thread_pointer() + __rseq_offset, .argv = argv, .returns = returns, .threads = threads};
	prctl(PR_GET_NAME, name);
	sigaltstack(NULL, &signal_stack);
	return snapshot_write(path, &s);
}

void start_threads(void)
{
	if (threads_make((u64)__rseq_offset))
		restore_fail(FAIL_THREAD);
	if (descriptors_make())
		restore_fail(FAIL_DESCRIPTOR);
	threads_go();
}

// set_thread_stack gives new threads a stack as large as the limit of this run, as the C library does
// at its start (nptl, __pthread_initialize_minimal).
static void set_thread_stack(void)
{
	struct rlimit limit;
	pthread_attr_t attributes;
	if (getrlimit(RLIMIT_STACK, &limit) || pthread_attr_init(&attributes))
		return;
	pthread_attr_setstacksize(&attributes, limit.rlim_cur & -(rlim_t)PAGE);
	pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
}

// set_random gives getauxval(AT_RANDOM) the bytes of this run. The C library's auxiliary vector is the
// copy in the snapshot.
static void set_random(char **envp)
{
	while (*envp++)
		;
	for (const Elf64_auxv_t *a = (const Elf64_auxv_t *)envp; a->a_type != AT_NULL; a++)
		if (a->a_type == AT_RANDOM)
			memcpy((void *)getauxval(AT_RANDOM), (const void *)a->a_un.a_val, 16);
}

// For pthread_getattr_np. The loader has made its page read-only.
void start_stack_end(void *stack_end)
{
	char *page = (char *)((unsigned long)&__libc_stack_end & -PAGE);
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	__libc_stack_end = stack_end;
	mprotect(page, PAGE, PROT_READ);
}

void start_again(char **argv, char **envp, void *stack_end)
{
	start_stack_end(stack_end);
	set_thread_stack();
	set_random(envp);
	program_invocation_name = argv[0];
	program_invocation_short_name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	prctl(PR_SET_NAME, name);
	if (!(signal_stack.ss_flags & SS_DISABLE))
		sigaltstack(&signal_stack, NULL);
}
