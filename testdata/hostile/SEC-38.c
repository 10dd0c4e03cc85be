#define ID "SEC-38"
#include "probe.h"
#include <linux/futex.h>
// Locks with priority inheritance: the kernel's rt_mutex, CVE-2014-3153 and CVE-2021-3347.
int main(void) {
	static unsigned word, other; struct timespec none = {0};
#define OP(name, op, a, b, c) TRY(name, syscall(SYS_futex, &word, (unsigned long)(op), a, b, c, 0L))
	OP("lock pi", FUTEX_LOCK_PI, 0L, 0L, 0L); OP("unlock pi", FUTEX_UNLOCK_PI, 0L, 0L, 0L);
	OP("trylock pi", FUTEX_TRYLOCK_PI_PRIVATE, 0L, 0L, 0L); OP("unlock pi private", FUTEX_UNLOCK_PI_PRIVATE, 0L, 0L, 0L);
	OP("lock pi2", 13, 0L, 0L, 0L);
	OP("wait requeue pi", FUTEX_WAIT_REQUEUE_PI_PRIVATE, 1L, &none, &other);
	OP("requeue pi", FUTEX_CMP_REQUEUE_PI_PRIVATE, 1L, 0L, &other);
	OP("lock pi high", 1UL << 32 | FUTEX_LOCK_PI, 0L, 0L, 0L);
	OP("wake op", FUTEX_WAKE_OP, 1L, 0L, &other);
	OP("wake", FUTEX_WAKE_PRIVATE, 1L, 0L, 0L); /* this one is allowed */
	return 0; }
