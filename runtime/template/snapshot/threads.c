// Each thread is parked in a signal handler: the kernel has put its registers on its stack then, so
// they are part of the snapshot. In the new process a thread with the same stack and thread pointer
// is made for each, and it returns from the handler. That loads the registers, the signal mask and
// the alternate stack. A system call in which the signal came begins anew then, or returns EINTR, as
// the kernel does it for every handler.
#include <linux/fcntl.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include "restore.h"
#include "threads.h"

// SIGSETXID of the C library: no thread blocks it, and no program has a handler for it
// (sysdeps/unix/sysv/linux/internal-signals.h).
enum { PARK_SIGNAL = 33, MOST_THREADS = 64 };

enum { TASK_FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
		    CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID }; // what pthread_create uses, and each tier allows

struct thread {
	int id;        // in the old process
	u64 pointer;   // the thread pointer
	void *context; // where the kernel put the registers
	char name[16];
};

static struct thread thread[MOST_THREADS];
static int threads, parked;
static u64 rseq_distance;
static int gone; // threads_go was called

static void wait_for(int *word, int while_it_is)
{
	struct { long seconds, nanoseconds; } most = {1, 0};
	SYS(futex, word, FUTEX_WAIT_PRIVATE, while_it_is, &most);
}

static void wake(int *word, int value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	SYS(futex, word, FUTEX_WAKE_PRIVATE, MOST_THREADS);
}

// park is the handler. Threads are parked one after another.
static void park(int sig, void *info, void *context)
{
	(void)sig, (void)info;
	struct thread *t = &thread[parked];
	__asm__("mov %%fs:0, %0" : "=r"(t->pointer));
	t->context = context;
	SYS(prctl, PR_GET_NAME, t->name);
	wake(&parked, parked + 1);
	for (;;)
		SYS(pause);
}

__asm__(".text\n"
	".type return_from_handler, @function\n"
	"return_from_handler:\n"
	"\tmov $15, %eax\n" // rt_sigreturn
	"\tsyscall\n");
extern char return_from_handler[] __attribute__((visibility("hidden")));

// list notes the threads of this process that it has not noted, other than the first, in the order in which
// they were made: so they get the same numbers again.
static int list(void)
{
	int noted = threads;
	struct entry { u64 inode; long offset; unsigned short size; u8 type; char name[]; } *e;
	static char entries[8192] __attribute__((aligned(8)));
	long fd = SYS(openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long first = SYS(gettid), n = SYS(getdents64, fd, entries, sizeof entries);
	SYS(close, fd);
	if (n <= 0 || n > (long)sizeof entries - 512)
		return -1;
	for (char *p = entries; p < entries + n; p += e->size) {
		int id = 0;
		e = (struct entry *)p;
		for (const char *c = e->name; *c >= '0' && *c <= '9'; c++)
			id = id * 10 + (*c - '0');
		int is_noted = !id || id == first;
		for (int i = 0; i < noted; i++)
			is_noted |= thread[i].id == id;
		if (is_noted)
			continue;
		if (threads == MOST_THREADS)
			return -1;
		int at = threads++;
		for (; at > noted && thread[at - 1].id > id; at--)
			thread[at].id = thread[at - 1].id;
		thread[at].id = id;
	}
	return 0;
}

const char *threads_park(void)
{
	enum { TRIES = 10 }; // of a second each
	struct action handler = {park, 0x04000000 /* SA_RESTORER */ | 4 /* SA_SIGINFO */ | 0x10000000 /* SA_RESTART */, return_from_handler, -1UL}, old;
	long process = SYS(getpid);
	SYS(rt_sigaction, PARK_SIGNAL, &handler, &old, 8);
	for (int i = 0;; i++) {
		if (i == threads && list()) // a thread may have made others before it was parked
			return "the interpreter has too many threads";
		if (i == threads)
			break;
		SYS(tgkill, process, thread[i].id, PARK_SIGNAL);
		for (int tries = 0; __atomic_load_n(&parked, __ATOMIC_ACQUIRE) == i; tries++) {
			if (tries == TRIES)
				return "a thread of the interpreter does not stop";
			wait_for(&parked, i);
		}
		if (*(int *)(thread[i].pointer + PTHREAD_TID) != thread[i].id)
			return "a thread of the interpreter is not one of the C library";
	}
	SYS(rt_sigaction, PARK_SIGNAL, &old, 0, 8);
	return 0;
}

// begin is the first function of a new thread. It runs below what the kernel put on the thread's stack.
__attribute__((noreturn, used, visibility("hidden"))) void thread_begin(const struct thread *t)
{
	while (!__atomic_load_n(&gone, __ATOMIC_ACQUIRE))
		wait_for(&gone, 0);
	SYS(set_robust_list, t->pointer + PTHREAD_ROBUST, ROBUST_SIZE);
	restore_rseq((u32 *)(t->pointer + rseq_distance));
	SYS(prctl, PR_SET_NAME, t->name);
	__asm__ volatile("mov %0, %%rsp\n\tjmp return_from_handler" : : "r"(t->context) : "memory");
	__builtin_unreachable();
}

static long make(const struct thread *t)
{
	enum { BELOW = 256 }; // the kernel's frame begins a word below the context
	long ret;
	int *id = (int *)(t->pointer + PTHREAD_TID);
	register int *child_id __asm__("r10") = id;
	register u64 pointer __asm__("r8") = t->pointer;
	register const struct thread *kept __asm__("r9") = t; // clone has no sixth argument
	__asm__ volatile("syscall\n"
			 "\ttest %%rax, %%rax\n"
			 "\tjnz 1f\n"
			 "\txor %%ebp, %%ebp\n"
			 "\tmov %%r9, %%rdi\n"
			 "\tcall thread_begin\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(__NR_clone), "D"(TASK_FLAGS), "S"(((u64)t->context - BELOW) & -16UL), "d"(id), "r"(child_id), "r"(pointer), "r"(kept)
			 : "rcx", "r11", "memory");
	return ret;
}

int threads_make(u64 rseq)
{
	rseq_distance = rseq;
	for (int i = 0; i < threads; i++)
		if (make(&thread[i]) < 0)
			return -1;
	return 0;
}

void threads_go(void) { wake(&gone, 1); }
