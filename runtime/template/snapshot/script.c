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

enum { GUARD = 1 << 20 }; // below the stack; the kernel's own stack has as much (stack_guard_gap)

struct script script;

static const char *path;     // of the snapshot; null: it is not to be written, or has been
static void *stack_end;      // the upper end of the stack that is in the snapshot
static ucontext_t begin, writer, go_on;
static volatile int resumed; // this process executes the snapshot

static struct program program;

int script_reached(const char *name)
{
	return path && !strcmp(name, script.argv[script.at]);
}

static void resume(int argc, char **argv, char **envp)
{
	start_again(argv, envp, stack_end);
	script.argc = argc;
	script.argv = argv;
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
	unsetenv("BRIG_TEMPLATE");
	unsetenv("LD_PRELOAD");
	program = (struct program){start, main, init, fini, rtld_fini};
	script = (struct script){argc, argv, argc - 1};

	struct rlimit limit;
	getrlimit(RLIMIT_STACK, &limit);
	char *stack = mmap(NULL, GUARD + limit.rlim_cur, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stack == MAP_FAILED || mprotect(stack + GUARD, limit.rlim_cur, PROT_READ | PROT_WRITE)) {
		fprintf(stderr, "template: there is no room for a stack of %lu bytes\n", limit.rlim_cur);
		_exit(1);
	}
	stack_end = stack + GUARD + limit.rlim_cur - 16;
	start_stack_end(stack_end);
	getcontext(&begin);
	begin.uc_stack = (stack_t){.ss_sp = stack + GUARD, .ss_size = limit.rlim_cur - 64};
	makecontext(&begin, on_stack, 0);
	swapcontext(&writer, &begin);
	// From script_write. The writer needs the kernel's stack: it changes what is on the other.
	const char *to = path, *missing;
	path = NULL;
	if ((missing = start_write(to, argv, resume, 1)))
		fprintf(stderr, "template: %s\n", missing);
	_exit(missing != NULL);
}
