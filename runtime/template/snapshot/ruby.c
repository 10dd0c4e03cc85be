// Loaded before libc by LD_PRELOAD into the ruby of an image: it writes a snapshot to BRIG_TEMPLATE when
// ruby is about to open its script, and exits. A process that executes the snapshot opens its own script
// at this point, and all that follows is the ordinary start.
//
// The state of the snapshot is that of a child of Process.fork, before Ruby knows that it is one. What
// Ruby does then is what each run needs: it notes the number of the process, makes its timer thread and
// its descriptors again, and forgets the seed of its random numbers.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>
#include "script.h"

// Ruby's C API (docs.ruby-lang.org/en/3.3/extension_rdoc.html).
typedef unsigned long VALUE;
extern VALUE rb_mProcess;
unsigned long rb_intern(const char *name);
VALUE rb_funcallv(VALUE object, unsigned long method, int argc, const VALUE *argv);
void ruby_sysinit(int *argc, char ***argv);
void ruby_init_setproctitle(int argc, char **argv);
void ruby_set_argv(int argc, char **argv);

static int at_fork; // the next fork is the one whose child is written

// In place of the C library's.
EXPORTED pid_t fork(void)
{
	static pid_t (*real)(void);
	if (!real)
		real = dlsym(RTLD_NEXT, "fork");
	pid_t child = real();
	if (!at_fork)
		return child;
	if (child) {
		int status = 1;
		waitpid(child, &status, 0);
		_exit(status != 0);
	}
	at_fork = 0;
	// Ruby will close the descriptors of the timer thread that is not in this process. Others take
	// their place until then.
	enum { MOST = 256 };
	static char open[MOST];
	for (int fd = 3; fd < MOST; fd++)
		open[fd] = !close(fd);
	script_write();
	for (int fd = 3; fd < MOST; fd++)
		if (open[fd])
			dup3(fcntl(STDIN_FILENO, F_GETFD) < 0 ? STDERR_FILENO : STDIN_FILENO, fd, O_CLOEXEC);
	return 0;
}

static void at_script(void)
{
	at_fork = 1;
	rb_funcallv(rb_mProcess, rb_intern("fork"), 0, NULL);
	// In each run, what ruby's start has done with its arguments: notes them, also where $0 may be
	// changed, opens descriptors 0 to 2 if they are closed, and makes ARGV.
	int argc = script.argc;
	char **argv = script.argv;
	ruby_sysinit(&argc, &argv);
	ruby_init_setproctitle(argc, argv);
	ruby_set_argv(argc - script.at - 1, argv + script.at + 1);
}

// In place of the C library's.
EXPORTED int open(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	if (!real)
		real = dlsym(RTLD_NEXT, "open");
	va_list more;
	va_start(more, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (script_reached(path))
		at_script();
	return real(path, flags, mode);
}
