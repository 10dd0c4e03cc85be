// What a snapshot needs to become a process again. snapshot_write fills it in; it is in the snapshot.
#ifndef BRIG_RESTORE_H
#define BRIG_RESTORE_H

#include "snapshot.h"

enum { SIGNALS = 64, VDSO_PARTS = 8, ROBUST_SIZE = 24, RSEQ_SIZE = 32, MAX_FILES = 16, MAX_PATH = 256, MAX_FILE_MAPPINGS = 64 };

// Offsets in the C library's descriptor of a thread, struct pthread (nptl/descr.h). They are the same
// since glibc 2.4; thread_fields and threads_park check them.
enum { PTHREAD_TID = 0x2d0, PTHREAD_ROBUST = 0x2e0 };

struct action { void *handler; u64 flags; void *restorer; u64 mask; };

// A mapping that begins empty in each run, or that allows no access.
struct empty { struct range at; u32 prot, droppable, wipe; };

// A mapping of a file of the image, which is not in the snapshot.
struct file_mapping { struct range at; u64 offset; u32 prot, file; };

// A piece of the memory that the kernel does not map at exec: its content, and zeros.
struct late { struct range at; u64 content_end, offset; u32 prot; };

struct restore {
	void (*resume)(int argc, char **argv, char **envp);
	char ***environ;
	void **brk;
	void *rseq;
	int returns;
	int threads;
	u32 sse;                   // MXCSR: libraries may change it in a constructor, for example to flush denormals to zero
	unsigned short x87;        // the control word
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
	char file[MAX_FILES][MAX_PATH];
	u32 files;
	struct file_mapping file_mapping[MAX_FILE_MAPPINGS];
	u32 file_mappings;
	u32 lates;
	struct late late[MAX_PIECES - MAX_LOADS];
};

extern struct restore restoring __attribute__((visibility("hidden")));
// restore_rseq registers an area with rseq(2), or marks it as not registered.
__attribute__((visibility("hidden"))) void restore_rseq(u32 *area);

extern char snapshot_entry[] __attribute__((visibility("hidden")));

// The first byte of this library in memory, and the one after its last; made by the linker.
extern char __ehdr_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));

#endif
