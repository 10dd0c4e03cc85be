// Templates of an interpreter that has started and is about to open its script.
//
// Its functions return in the new process, so they run on a stack that is in the snapshot, at the same
// addresses in each run, with the canary of the template.
#ifndef BRIG_SCRIPT_H
#define BRIG_SCRIPT_H

#include "start.h"

// The command: in the process that makes the template its own, and then that of the run.
struct script {
	int argc;
	char **argv;
	int at;      // of the script in argv
	int threads; // the driver sets it: the interpreter has threads and descriptors, which are kept
	int (*check)(void); // the driver sets it, with threads: whether the command of a run cannot begin from the template
};

extern struct script script;

// script_reached reports whether the interpreter opens its script now, in the process that makes the
// template. It is so once.
int script_reached(const char *path);

// script_waits reports whether this process makes a template that has not been written.
int script_waits(void);

// script_write writes the snapshot and does not return in this process. It returns in each process that
// executes the snapshot. The process has one thread, and no descriptor above 2, unless script.threads is
// set.
void script_write(void);

#endif
