// A snapshot is a static ELF executable that holds the memory of the process that wrote it. The
// kernel's own loader maps it. Its entry point, restore, then makes of the new process what the old
// one was, except for what must be new in each run, and calls the continuation.
#ifndef BRIG_SNAPSHOT_H
#define BRIG_SNAPSHOT_H

#include <asm/unistd.h>

#ifndef __x86_64__
#error "snapshots are written for x86_64; another architecture needs its own entry point and thread pointer"
#endif

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;

// MAX_LOADS: Linux 6.1 refuses a table of program headers larger than a page, 73 of them
// (fs/binfmt_elf.c, load_elf_phdrs); 6.18 does not. One is PT_GNU_STACK.
enum { PAGE = 4096, MAX_MAPPINGS = 2048, MAX_PIECES = 1024, MAX_LOADS = 72 };

// Why a restore failed. It is the offset of the descriptor of the executable, which the agent reads:
// no program can move it, because restore closes the descriptor before the program begins.
enum failure {
	FAIL_NONE,
	FAIL_VDSO,    // the kernel does not let the vDSO be moved
	FAIL_MAPPING, // a range of addresses is in use
	FAIL_FILE,    // a file of the image cannot be mapped
	FAIL_THREAD,  // a thread cannot be made
	FAIL_DESCRIPTOR, // a descriptor cannot be made
	FAIL_COMMAND, // the command is another one
	EXIT_RESTORE = 120, // the exit status that goes with a failure
	RESTORE_FD = 3,     // the descriptor of the executable
};

// A range of addresses.
struct range { u64 start, end; };

// A mapping as /proc/self/smaps shows it.
struct mapping {
	struct range at;
	u32 prot;
	enum { ORDINARY, STACK, VDSO, VVAR, VSYSCALL, FRESH } kind; // FRESH: the kernel empties it in children
	u32 droppable;                                              // FRESH, with MAP_DROPPABLE
	u32 anonymous;    // it has no file
	u32 keyed;        // with a protection key, which a process must allocate
	const char *file; // whose bytes it has, unchanged; ended by a newline; null: none. Until mappings_forget
	u64 offset;       // in the file
	u32 device;       // of the file
};

// What the process that writes a snapshot says of itself.
struct snapshot {
	void (*resume)(int argc, char **argv, char **envp); // does not return
	char ***environ;    // the C library's variable; set to the new environment
	void **brk;         // the C library's end of the heap; set to the new one
	void *rseq;         // the area registered with rseq(2); 0: none
	const void *code;   // some code of the C library: its file is on the device of the image
	char **argv;        // of this process: all that lies above it on the stack is copied
	int returns;        // functions of this process return in the new one: it keeps the stack canary, and resume closes RESTORE_FD
	int threads;        // it has other threads, which are parked, and descriptors above 2: resume makes them again
};

// snapshot_write writes this process to the file path. It returns 0, or says what is missing.
const char *snapshot_write(const char *path, const struct snapshot *s);

// mappings_read lists the mappings of this process. It returns their number, or -1.
int mappings_read(struct mapping *out, int max);

// mapping_untouched reports whether a page of a mapping has never been touched, and is zero. Until mappings_forget it notes which are.
int mapping_untouched(const struct mapping *m, u64 page);

// mappings_forget ends the use of what mappings_read and mapping_untouched have read.
void mappings_forget(void);

// restore_fail ends a new process that cannot be what the old one was. The template is still open.
__attribute__((noreturn, visibility("hidden"))) void restore_fail(enum failure why);

static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define SYS(n, ...) SYS_(n, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define SYS_(n, a, b, c, d, e, f, ...) \
	sys6(__NR_##n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
