// What a snapshot needs to become a process again. snapshot_write fills it in; it is in the snapshot.
#ifndef BRIG_RESTORE_H
#define BRIG_RESTORE_H

#include "snapshot.h"

enum { SIGNALS = 64, VDSO_PARTS = 8, ROBUST_SIZE = 24, RSEQ_SIZE = 32 };

struct action { void *handler; u64 flags; void *restorer; u64 mask; };

// A mapping that begins empty in each run, or that allows no access.
struct empty { struct range at; u32 prot, droppable, wipe; };

struct restore {
	void (*resume)(int argc, char **argv, char **envp);
	char ***environ;
	void **brk;
	void *rseq;
	int returns;
	u64 thread;                // the thread pointer
	int *tid;                  // the C library's copy of the thread's number, which the kernel clears at its end
	void *robust;              // the head of the thread's list of robust futexes
	struct action signal[SIGNALS + 1];
	struct range vdso_part[VDSO_PARTS]; // of the old process, with the data pages
	u32 vdso_parts;
	u64 vdso_start;            // of the vDSO itself in the old process
	u64 vdso_at;               // where it is in the new one
	struct empty empty[MAX_MAPPINGS];
	u32 empties;
};

extern struct restore restoring __attribute__((visibility("hidden")));
extern char snapshot_entry[] __attribute__((visibility("hidden")));

#endif
