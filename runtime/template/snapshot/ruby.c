// Loaded before libc by LD_PRELOAD into the ruby of an image: it writes a snapshot to BRIG_TEMPLATE when
// ruby is about to run its script, and exits. RubyGems is loaded then, which takes most of ruby's start. The
// script of the template is empty: a process that executes the snapshot compiles its own, and ruby runs
// that instead, as it would have run the other.
//
// The state of the snapshot is that of a child of Process.fork, before Ruby knows that it is one. What
// Ruby does then is what each run needs: it notes the number of the process, makes its timer thread and
// its descriptors again, and forgets the seed of its random numbers.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>
#include "script.h"

// Ruby's C API (docs.ruby-lang.org/en/3.3/extension_rdoc.html).
typedef unsigned long VALUE;
extern VALUE rb_mProcess;
unsigned long rb_intern(const char *name);
VALUE rb_funcallv(VALUE object, unsigned long method, int argc, const VALUE *argv);
VALUE rb_protect(VALUE (*call)(VALUE), VALUE argument, int *failed);
VALUE rb_path2class(const char *name);
VALUE rb_external_str_new_cstr(const char *text);
VALUE rb_gv_get(const char *name);
VALUE rb_gv_set(const char *name, VALUE value);
int rb_respond_to(VALUE object, unsigned long method);
void ruby_sysinit(int *argc, char ***argv);
void ruby_init_setproctitle(int argc, char **argv);
void ruby_set_argv(int argc, char **argv);
// Exported, but not of the API: the instructions of a RubyVM::InstructionSequence.
void *rb_iseqw_to_iseq(VALUE iseq);

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

static VALUE warm_up(VALUE process)
{
	// Ruby collects its garbage, and counts what is left as old: a run then writes to fewer pages.
	if (rb_respond_to(process, rb_intern("warmup")))
		rb_funcallv(process, rb_intern("warmup"), 0, NULL);
	return process;
}

static VALUE compile(VALUE name)
{
	return rb_funcallv(rb_path2class("RubyVM::InstructionSequence"), rb_intern("compile_file"), 1, &name);
}

// main_script is what ruby runs: the script of the command. It has the same label, path and variables as the
// script that ruby's start compiles. If it does not compile, ruby's ordinary start reports that.
static void *main_script(const char *ruby)
{
	int failed = 0;
	VALUE name = rb_external_str_new_cstr(script.argv[script.at]), verbose = rb_gv_get("$VERBOSE");
	rb_gv_set("$VERBOSE", rb_gv_get("$,")); // nil: no warnings, because the ordinary start would repeat them
	rb_protect(compile, name, &failed);
	rb_gv_set("$VERBOSE", verbose);
	VALUE compiled = failed ? 0 : rb_protect(compile, name, &failed);
	if (failed) {
		execve(ruby, script.argv, environ);
		perror("ruby: exec ruby again, for the message about the script"); // the template's descriptor is closed
		_exit(1);
	}
	return rb_iseqw_to_iseq(compiled);
}

// In place of libruby's. ruby's main calls it when all is ready.
EXPORTED int ruby_run_node(void *script_of_template)
{
	int (*real)(void *) = dlsym(RTLD_NEXT, "ruby_run_node");
	if (!script_waits())
		return real(script_of_template);
	int failed;
	static char *ruby;
	ruby = strdup((const char *)getauxval(AT_EXECFN));
	rb_protect(warm_up, rb_mProcess, &failed);
	at_fork = 1;
	rb_funcallv(rb_mProcess, rb_intern("fork"), 0, NULL);
	// In each run, what ruby's start has done with its arguments: notes them, also where $0 may be
	// changed, opens descriptors 0 to 2 if they are closed, and makes ARGV.
	int argc = script.argc;
	char **argv = script.argv;
	ruby_sysinit(&argc, &argv);
	ruby_init_setproctitle(argc, argv);
	ruby_set_argv(argc - script.at - 1, argv + script.at + 1);
	return real(main_script(ruby));
}
