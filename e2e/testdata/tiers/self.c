/* A program's own limits, signals, identity, clocks: what every tier has. */
#include "needs.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/utsname.h>

NEED(getrlimit) { struct rlimit r; return does(getrlimit, RLIMIT_NOFILE, &r) == 0; }
NEED(prlimit64) { struct rlimit r; return does(prlimit64, 0, RLIMIT_STACK, 0, &r) == 0; }
NEED(getrusage) { struct rusage u; return does(getrusage, RUSAGE_SELF, &u) == 0; }
NEED(times) { struct tms t; return does(times, &t) != -1; }
NEED(uname) { struct utsname u; return does(uname, &u) == 0; }
NEED(sysinfo) { struct sysinfo s; return does(sysinfo, &s) == 0; }
NEED(prctl) { return does(prctl, PR_SET_NAME, "named") == 0; }

static volatile sig_atomic_t got;
static void note(int sig) { got = sig; }
static uint64_t bit(int sig) { return 1ull << (sig - 1); }
static int blocked(int sig) { sigset_t s; sigemptyset(&s); sigaddset(&s, sig); return sigprocmask(SIG_BLOCK, &s, 0) == 0 && raise(sig) == 0; }
NEED(rt_sigaction) { struct { void *f; long flags; void *r; uint64_t mask; } old; return does(rt_sigaction, SIGUSR1, 0, &old, 8) == 0; }
NEED(rt_sigprocmask) { uint64_t s = bit(SIGUSR1); return does(rt_sigprocmask, SIG_BLOCK, &s, 0, 8) == 0; }
NEED(rt_sigreturn) { on(SIGUSR1, note); return raise(SIGUSR1) == 0 && got == SIGUSR1; }
NEED(rt_sigpending) { uint64_t s; return blocked(SIGUSR1) && does(rt_sigpending, &s, 8) == 0 && s == bit(SIGUSR1); }
NEED(rt_sigsuspend) { uint64_t none = 0; on(SIGUSR1, note); return blocked(SIGUSR1) && does(rt_sigsuspend, &none, 8) == -1 && errno == EINTR; }
NEED(rt_sigtimedwait) { uint64_t s = bit(SIGUSR1); return blocked(SIGUSR1) && does(rt_sigtimedwait, &s, 0, 0, 8) == SIGUSR1; }
NEED(sigaltstack) { stack_t s; return does(sigaltstack, 0, &s) == 0; }
NEED(restart_syscall) { return does(restart_syscall) == -1 && errno == EINTR; } /* the kernel enters it after a stop: nothing to go on with */
static void *wake(void *main) { usleep(20000); pthread_kill(*(pthread_t *)main, SIGUSR1); return 0; }
NEED(pause) { pthread_t t, me = pthread_self(); on(SIGUSR1, note); return pthread_create(&t, 0, wake, &me) == 0 && does(pause) == -1 && errno == EINTR; }
NEED(tgkill) { on(SIGUSR1, note); return does(tgkill, getpid(), getpid(), SIGUSR1) == 0 && got == SIGUSR1; }

NEED(getpid) { return does(getpid) > 0; }
NEED(getppid) { return does(getppid) >= 0; }
NEED(gettid) { return does(gettid) > 0; }
NEED(getuid) { return does(getuid) == 1000; }
NEED(geteuid) { return does(geteuid) == 1000; }
NEED(getgid) { return does(getgid) == 1000; }
NEED(getegid) { return does(getegid) == 1000; }
NEED(getresuid) { unsigned r, e, s; return does(getresuid, &r, &e, &s) == 0 && s == 1000; }
NEED(getresgid) { unsigned r, e, s; return does(getresgid, &r, &e, &s) == 0 && s == 1000; }
NEED(getgroups) { return does(getgroups, 0, 0) >= 0; }
NEED(getpgrp) { return does(getpgrp) >= 0; }
NEED(getpgid) { return does(getpgid, 0) >= 0; }
NEED(getsid) { return does(getsid, 0) >= 0; }

NEED(getrandom) { char b[8]; return does(getrandom, b, 8, 0) == 8; }
NEED(clock_gettime) { struct timespec t; return does(clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t) == 0; }
NEED(clock_getres) { struct timespec t; return does(clock_getres, CLOCK_MONOTONIC, &t) == 0; }
NEED(gettimeofday) { struct timeval t; return does(gettimeofday, &t, 0) == 0; }
NEED(time) { return does(time, 0) > 0; }
NEED(nanosleep) { struct timespec t = {0, 1000}; return does(nanosleep, &t, 0) == 0; }
NEED(clock_nanosleep) { struct timespec t = {0, 1000}; return does(clock_nanosleep, CLOCK_MONOTONIC, 0, &t, 0) == 0; }
NEED(sched_yield) { return does(sched_yield) == 0; }
NEED(sched_getaffinity) { char b[128]; return does(sched_getaffinity, 0, sizeof b, b) > 0; }
NEED(sched_setscheduler) { struct sched_param p = {0}; return does(sched_setscheduler, 0, SCHED_OTHER, &p) == 0; }
NEED(getcpu) { unsigned c; return does(getcpu, &c, 0, 0) == 0; }
