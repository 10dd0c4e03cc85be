/* All kinds of timers. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#define MUST(x) do { if (!(x)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, strerror(errno)); exit(1); } } while (0)

static volatile sig_atomic_t rings;
static void ring(int sig) { (void)sig; rings++; }

static void of(clockid_t clock) {
	timer_t t;
	struct itimerspec ten = {{0, 10000000}, {0, 10000000}}, left;
	rings = 0;
	MUST(timer_create(clock, 0, &t) == 0 && timer_settime(t, 0, &ten, 0) == 0 && timer_gettime(t, &left) == 0 && left.it_interval.tv_nsec == 10000000);
	while (rings < 2)
		pause();
	MUST(timer_getoverrun(t) >= 0 && timer_delete(t) == 0);
	int f = timerfd_create(clock, TFD_CLOEXEC);
	uint64_t times = 0;
	MUST(f >= 0 && timerfd_settime(f, 0, &ten, 0) == 0 && timerfd_gettime(f, &left) == 0 && read(f, &times, sizeof times) == sizeof times && times >= 1);
	close(f);
}

int main(void) {
	struct sigaction act = {.sa_handler = ring}, old;
	MUST(sigaction(SIGALRM, &act, &old) == 0);
	MUST(alarm(1) == 0);
	pause();
	MUST(rings == 1);
	struct itimerval ten = {{0, 10000}, {0, 10000}}, left, off = {{0}, {0}};
	MUST(setitimer(ITIMER_REAL, &ten, 0) == 0 && getitimer(ITIMER_REAL, &left) == 0 && left.it_interval.tv_usec == 10000);
	while (rings < 3)
		pause();
	MUST(setitimer(ITIMER_REAL, &off, 0) == 0);
	of(CLOCK_REALTIME);
	of(CLOCK_MONOTONIC);
	puts("timers ok");
}
