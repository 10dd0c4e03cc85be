#define ID "SEC-39"
#include "probe.h"
#include <time.h>
#include <sys/timerfd.h>
// Timers of processor clocks: CVE-2025-38352, their race with the end of a thread.
int main(void) {
	int id, thread = ~getpid() << 3 | 6; struct timespec soon = {0, 1000};
	TRY("timer process", syscall(SYS_timer_create, (long)CLOCK_PROCESS_CPUTIME_ID, 0L, &id));
	TRY("timer thread", syscall(SYS_timer_create, (long)CLOCK_THREAD_CPUTIME_ID, 0L, &id));
	TRY("timer by number", syscall(SYS_timer_create, (long)thread, 0L, &id));
	TRY("timer by number, 32 bits", syscall(SYS_timer_create, (unsigned long)(unsigned)thread, 0L, &id));
	TRY("timer high", syscall(SYS_timer_create, 1L << 32 | CLOCK_PROCESS_CPUTIME_ID, 0L, &id));
	TRY("sleep process", syscall(SYS_clock_nanosleep, (long)CLOCK_PROCESS_CPUTIME_ID, 1L, &soon, 0L));
	TRY("alarm clock", syscall(SYS_timerfd_create, (long)CLOCK_BOOTTIME_ALARM, 0L));
	TRY("timer", syscall(SYS_timer_create, (long)CLOCK_MONOTONIC, 0L, &id)); /* this one is allowed */
	return 0; }
