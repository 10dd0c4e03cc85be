// Loaded before libc by LD_PRELOAD into a program of an image, for example bash: it writes a snapshot
// to BRIG_TEMPLATE before the C library calls anything of the program, and exits. The dynamic loader
// has done its work: libraries are mapped and bound, and their constructors have run. A process that
// executes the snapshot goes on in resume, as the program's first code does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "start.h"

static struct program program;

static void resume(int argc, char **argv, char **envp)
{
	start_again(argv, envp, argv - 1);
	program.start(program.main, argc, argv, program.init, program.fini, program.rtld_fini, argv - 1);
}

// The first code of every dynamic program calls it with its main.
EXPORTED int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	start_function *start = dlsym(RTLD_NEXT, "__libc_start_main");
	const char *path = getenv("BRIG_TEMPLATE");
	if (!path)
		return start(main, argc, argv, init, fini, rtld_fini, stack_end);
	program = (struct program){start, main, init, fini, rtld_fini};
	start_executable();
	const char *missing = start_write(path, argv, resume, 0, 0);
	if (missing)
		fprintf(stderr, "template: %s\n", missing);
	_exit(missing != 0);
}
