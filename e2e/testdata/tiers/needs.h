/* A need is one thing that programs do with one system call: it returns 0 where the
 * call is refused. The call is made directly, since a C library takes another of the
 * same meaning where it can; other libraries and older ones take this one. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct need { const char *call; int (*works)(void); };
void add_need(const char *call, int (*works)(void));

#define NEED(call) \
	static int works_##call(void); \
	__attribute__((constructor)) static void add_##call(void) { add_need(#call, works_##call); } \
	static int works_##call(void)
#ifndef SYS_fchmodat2 /* Linux 6.6 */
#define SYS_fchmodat2 452
#endif
#define does(call, ...) syscall(SYS_##call, ##__VA_ARGS__)

static inline int scratch(const char *name) { return open(name, O_RDWR | O_CREAT | O_TRUNC, 0600); }
static inline void on(int sig, void (*act)(int)) { struct sigaction a = {.sa_handler = act}; sigaction(sig, &a, 0); }
