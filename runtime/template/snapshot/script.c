#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>
#include "script.h"
#include "threads.h"

enum {
	GUARD = 1 << 20,      // below the stack; the kernel's own stack has as much (stack_guard_gap)
	ENOUGH = 8 << 20,     // for the start, if the limit is
	MUCH = 1 << 30,       // or more
};

struct script script;

static const char *script_name; // a copy: php changes its argv
static const char *path;     // of the snapshot; null: it is not to be written, or has been
static char *stack_top;      // the upper end of the stack
static size_t stack_room;    // below it, with the guard: the largest stack of a run
static void *stack_end;      // where its first frame begins
static char *kept;           // a copy of what is on it
static size_t kept_size;
static ucontext_t begin, writer, go_on;
static volatile int resumed; // this process executes the snapshot

static struct program program;

int script_reached(const char *name)
{
	size_t n = strlen(name), m = path ? strlen(script_name) : 0;
	return path && n >= m && !strcmp(name + n - m, script_name) && (n == m || name[n - m - 1] == '/');
}

int script_waits(void) { return path != NULL; }

// set_stack gives the stack the size of this run's limit. It is one mapping, as the kernel's is: the C
// library and interpreters learn its size from /proc/self/maps.
static void set_stack(void)
{
	struct rlimit limit = {ENOUGH, ENOUGH};
	getrlimit(RLIMIT_STACK, &limit);
	size_t size = limit.rlim_cur & -(size_t)PAGE;
	if (size > stack_room - GUARD)
		size = stack_room - GUARD;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
	if (mmap(stack_top - stack_room, stack_room, PROT_NONE, flags, -1, 0) == MAP_FAILED ||
	    mmap(stack_top - size, size, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
		restore_fail(FAIL_MAPPING);
	memcpy(stack_top - kept_size, kept, kept_size);
}

static void resume(int argc, char **argv, char **envp)
{
	set_stack();
	script.argc = argc;
	script.argv = argv;
	if (script.check && script.check())
		restore_fail(FAIL_COMMAND);
	if (script.threads)
		start_threads(); // it closes the template's descriptor
	else
		close(RESTORE_FD);
	start_again(argv, envp, stack_end);
	resumed = 1;
	setcontext(&go_on);
}

void script_write(void)
{
	getcontext(&go_on); // unlike setjmp it encodes no register: the writer changes addresses in all of them
	if (!resumed)
		setcontext(&writer);
}

static void on_stack(void)
{
	program.start(program.main, script.argc, script.argv, program.init, program.fini, program.rtld_fini, stack_end);
}

// The first code of every dynamic program calls it with its main.
EXPORTED int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *end)
{
	start_function *start = dlsym(RTLD_NEXT, "__libc_start_main");
	if (!(path = getenv("BRIG_TEMPLATE")))
		return start(main, argc, argv, init, fini, rtld_fini, end);
	path = strdup(path);
	script_name = strdup(argv[argc - 1]);
	unsetenv("BRIG_TEMPLATE");
	unsetenv("LD_PRELOAD");
	program = (struct program){start, main, init, fini, rtld_fini};
	script.argc = argc;
	script.argv = argv;
	script.at = argc - 1;

	struct rlimit limit;
	getrlimit(RLIMIT_STACK, &limit);
	size_t size = limit.rlim_cur < MUCH ? limit.rlim_cur & -(size_t)PAGE : ENOUGH;
	stack_room = GUARD + (limit.rlim_cur & -(size_t)PAGE);
	char *lowest = mmap(NULL, stack_room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	stack_top = lowest + stack_room;
	if (lowest == MAP_FAILED || mprotect(stack_top - size, size, PROT_READ | PROT_WRITE)) {
		fprintf(stderr, "template: there is no room for a stack of %lu bytes\n", limit.rlim_cur);
		_exit(1);
	}
	stack_end = stack_top - 16;
	start_stack_end(stack_end);
	getcontext(&begin);
	begin.uc_stack = (stack_t){.ss_sp = stack_top - size, .ss_size = size - 64};
	makecontext(&begin, on_stack, 0);
	swapcontext(&writer, &begin);
	// From script_write. The writer needs the kernel's stack: it changes what is on the other.
	const char *to = path, *missing = script.threads ? threads_park() : NULL;
	path = NULL;
	enum { RED_ZONE = 128 }; // what a function may keep below its stack pointer
	char *used = (char *)go_on.uc_mcontext.gregs[REG_RSP] - RED_ZONE;
	kept_size = (size_t)(stack_top - used);
	kept = mmap(NULL, kept_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(kept, used, kept_size);
	if (!missing)
		missing = start_write(to, argv, resume, 1, script.threads);
	if (missing)
		fprintf(stderr, "template: %s\n", missing);
	_exit(missing != NULL);
}
