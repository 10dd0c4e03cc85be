// The first code of a process that executes a snapshot. The C library's state is that of the old
// process, so nothing of it may be called before restore has finished: only system calls.
//
// The order: the vDSO, because the kernel chose its place and a mapping could need that place;
// mappings that the kernel does not make at exec; then what belongs to the thread, with the thread pointer
// first, because everything else of the C library is found by it; at last what the C library knows of
// the kernel's choices.
#include <linux/auxvec.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include "restore.h"

#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE 0x08 // Linux 6.11
#endif

// Filled in by snapshot_write, and part of the snapshot.
struct restore restoring;

// The kernel enters here: the stack holds argc, argv, envp and the auxiliary vector.
__asm__(".text\n"
	".globl snapshot_entry\n"
	".hidden snapshot_entry\n"
	".type snapshot_entry, @function\n"
	"snapshot_entry:\n"
	"\txor %ebp, %ebp\n"
	"\tmov %rsp, %rdi\n"
	"\tand $-16, %rsp\n"
	"\tcall restore\n"
	"\tud2\n");

__attribute__((noreturn)) void restore_fail(enum failure why)
{
	SYS(lseek, RESTORE_FD, why, 0);
	SYS(exit_group, EXIT_RESTORE);
	__builtin_unreachable();
}

// place_vdso moves the new vDSO and its data pages to where the old process expects them.
static void place_vdso(u64 vdso)
{
	for (u32 i = 0; i < restoring.vdso_parts; i++) {
		struct range r = restoring.vdso_part[i];
		u64 from = r.start - restoring.vdso_start + vdso, to = r.start - restoring.vdso_start + restoring.vdso_at;
		if (from != to && SYS(mremap, from, r.end - r.start, r.end - r.start, MREMAP_MAYMOVE | MREMAP_FIXED, to) != (long)to)
			restore_fail(FAIL_VDSO);
	}
}

// map makes an anonymous mapping. MAP_FIXED_NOREPLACE since Linux 4.17.
static void map(const struct empty *e)
{
	long flags = MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | (e->droppable ? MAP_DROPPABLE : MAP_PRIVATE);
	if (!e->prot)
		flags |= MAP_NORESERVE;
	if (SYS(mmap, e->at.start, e->at.end - e->at.start, e->prot, flags, -1, 0) != (long)e->at.start)
		restore_fail(FAIL_MAPPING);
	if (e->wipe && SYS(madvise, e->at.start, e->at.end - e->at.start, MADV_WIPEONFORK) < 0)
		restore_fail(FAIL_MAPPING);
}

// map_late maps pieces of the template itself.
static void map_late(const struct late *l)
{
	u64 size = l->content_end - l->at.start, zeros = l->at.end - l->content_end;
	long flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE;
	if (size && SYS(mmap, l->at.start, size, l->prot, flags, RESTORE_FD, l->offset) != (long)l->at.start)
		restore_fail(FAIL_MAPPING);
	if (zeros && SYS(mmap, l->content_end, zeros, l->prot, flags | MAP_ANONYMOUS, -1, 0) != (long)l->content_end)
		restore_fail(FAIL_MAPPING);
}

// map_files maps files of the image. They are those that the template's process had: the image is the
// same, and its root cannot be written.
static void map_files(void)
{
	for (u32 file = 0; file < restoring.files; file++) {
		long fd = SYS(openat, AT_FDCWD, restoring.file[file], O_RDONLY | O_CLOEXEC, 0);
		if (fd < 0)
			restore_fail(FAIL_FILE);
		for (u32 i = 0; i < restoring.file_mappings; i++) {
			const struct file_mapping *m = &restoring.file_mapping[i];
			if (m->file == file && SYS(mmap, m->at.start, m->at.end - m->at.start, m->prot, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, m->offset) != (long)m->at.start)
				restore_fail(FAIL_FILE);
		}
		SYS(close, fd);
	}
}

void restore_rseq(u32 *r) // struct rseq of linux/rseq.h
{
	r[0] = 0;                // cpu_id_start
	r[1] = (u32)-1;          // cpu_id: not registered
	r[2] = r[3] = r[4] = 0;  // rseq_cs and flags
	enum { SIGNATURE = 0x53053053 }; // RSEQ_SIG of the C library on x86
	if (SYS(rseq, r, RSEQ_SIZE, 0, SIGNATURE) < 0)
		r[1] = (u32)-2; // RSEQ_CPU_ID_REGISTRATION_FAILED: the C library goes on without
}

__attribute__((noreturn, used, visibility("hidden"))) void restore(u64 *stack)
{
	int argc = (int)stack[0];
	char **argv = (char **)(stack + 1), **envp = argv + argc + 1;
	u64 *aux = (u64 *)envp;
	while (*aux++)
		;
	u64 vdso = 0;
	const u64 *random = 0;
	for (; aux[0] != AT_NULL; aux += 2) {
		if (aux[0] == AT_SYSINFO_EHDR)
			vdso = aux[1];
		else if (aux[0] == AT_RANDOM)
			random = (const u64 *)aux[1];
	}
	if (!vdso != !restoring.vdso_parts || !random)
		restore_fail(FAIL_VDSO);
	place_vdso(vdso);
	for (u32 i = 0; i < restoring.lates; i++)
		map_late(&restoring.late[i]);
	for (u32 i = 0; i < restoring.empties; i++)
		map(&restoring.empty[i]);
	map_files();
	if (!restoring.returns) // otherwise the continuation closes it: it may still fail
		SYS(close, RESTORE_FD);

	// A new stack canary, if no frame of the old process is ever returned to (tcbhead_t.stack_guard).
	if (!restoring.returns)
		*(u64 *)(restoring.thread + 0x28) = *random & ~0xffUL;
	SYS(arch_prctl, 0x1002 /* ARCH_SET_FS */, restoring.thread);
	long tid = SYS(set_tid_address, restoring.tid);
	*restoring.tid = (int)tid;
	SYS(set_robust_list, restoring.robust, ROBUST_SIZE);
	if (restoring.rseq)
		restore_rseq(restoring.rseq);
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (restoring.signal[sig].handler)
			SYS(rt_sigaction, sig, &restoring.signal[sig], 0, 8);

	__asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(restoring.sse), "m"(restoring.x87));
	*restoring.environ = envp;
	*restoring.brk = (void *)SYS(brk, 0);
	restoring.resume(argc, argv, envp);
	restore_fail(FAIL_NONE); // resume returned, which it does not
}
