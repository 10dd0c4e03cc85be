/* Processes, pipes, signals, events: from the tier default on. */
#include "needs.h"
#include <linux/capability.h>
#include <sys/epoll.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

static int reaped(long pid) { int s; return pid > 0 && waitpid(pid, &s, 0) == pid && s == 7 << 8; }
NEED(fork) { long p = does(fork); if (!p) _exit(7); return reaped(p); }
NEED(vfork) { pid_t p = vfork(); if (!p) _exit(7); return reaped(p); }
static int child(void) { int p = fork(); if (!p) _exit(7); return p; }
NEED(wait4) { int s, p = child(); return does(wait4, p, &s, 0, 0) == p; }
NEED(waitid) { siginfo_t s; int p = child(); return does(waitid, P_PID, p, &s, WEXITED, 0) == 0 && s.si_status == 7; }
NEED(setpgid) { int p = fork(); if (!p) _exit(does(setpgid, 0, 0) ? 1 : 7); return reaped(p); }
NEED(setsid) { int p = fork(); if (!p) _exit(does(setsid) < 0 ? 1 : 7); return reaped(p); }
NEED(execveat) { char *v[] = {"needs", "getpid", 0}, *e[] = {0}; does(execveat, AT_FDCWD, "/proc/self/exe", v, e, 0); return 0; }
NEED(pipe) { int p[2]; return does(pipe, p) == 0; }
NEED(pipe2) { int p[2]; return does(pipe2, p, O_CLOEXEC) == 0; }

static volatile sig_atomic_t got;
static void note(int sig) { got = sig; }
NEED(kill) { on(SIGUSR1, note); return does(kill, getpid(), SIGUSR1) == 0 && got; }
NEED(tkill) { on(SIGUSR1, note); return does(tkill, getpid(), SIGUSR1) == 0 && got; }
static siginfo_t queued(void) { siginfo_t s = {.si_code = SI_QUEUE}; on(SIGUSR1, note); return s; }
NEED(rt_sigqueueinfo) { siginfo_t s = queued(); return does(rt_sigqueueinfo, getpid(), SIGUSR1, &s) == 0 && got; }
NEED(rt_tgsigqueueinfo) { siginfo_t s = queued(); return does(rt_tgsigqueueinfo, getpid(), getpid(), SIGUSR1, &s) == 0 && got; }
NEED(signalfd4) { uint64_t s = 1ull << (SIGUSR1 - 1); return does(signalfd4, -1, &s, 8, 0) >= 0; }

NEED(epoll_create) { return does(epoll_create, 1) >= 0; }
NEED(epoll_create1) { return does(epoll_create1, EPOLL_CLOEXEC) >= 0; }
static int events(void) { int e = epoll_create1(0), f = syscall(SYS_eventfd2, 1, 0); struct epoll_event v = {EPOLLIN, {0}}; return epoll_ctl(e, EPOLL_CTL_ADD, f, &v) ? -1 : e; }
NEED(epoll_ctl) { return events() >= 0; }
NEED(epoll_wait) { struct epoll_event v; return does(epoll_wait, events(), &v, 1, 0) == 1; }
NEED(epoll_pwait) { struct epoll_event v; return does(epoll_pwait, events(), &v, 1, 0, 0, 8) == 1; }
NEED(epoll_pwait2) { struct epoll_event v; struct timespec t = {0}; return does(epoll_pwait2, events(), &v, 1, &t, 0, 8) == 1; }
NEED(eventfd) { return does(eventfd, 1) >= 0; }
NEED(eventfd2) { return does(eventfd2, 1, O_CLOEXEC) >= 0; }
NEED(timerfd_create) { return does(timerfd_create, CLOCK_MONOTONIC, 0) >= 0; }
NEED(timerfd_settime) { struct itimerspec t = {{0}, {9, 0}}; return does(timerfd_settime, timerfd_create(CLOCK_MONOTONIC, 0), 0, &t, 0) == 0; }
NEED(timerfd_gettime) { struct itimerspec t; return does(timerfd_gettime, timerfd_create(CLOCK_MONOTONIC, 0), &t) == 0; }
static int timer(void) { int id; return does(timer_create, CLOCK_MONOTONIC, 0, &id) ? -1 : id; }
NEED(timer_create) { return timer() >= 0; }
NEED(timer_settime) { struct itimerspec t = {{0}, {9, 0}}; return does(timer_settime, timer(), 0, &t, 0) == 0; }
NEED(timer_gettime) { struct itimerspec t; return does(timer_gettime, timer(), &t) == 0; }
NEED(timer_getoverrun) { return does(timer_getoverrun, timer()) == 0; }
NEED(timer_delete) { return does(timer_delete, timer()) == 0; }
NEED(setitimer) { struct itimerval t = {{0}, {9, 0}}; return does(setitimer, ITIMER_REAL, &t, 0) == 0; }
NEED(getitimer) { struct itimerval t; return does(getitimer, ITIMER_REAL, &t) == 0; }
NEED(alarm) { return does(alarm, 9) == 0 && does(alarm, 0) > 0; }

static int pair[2];
static int paired(void) { return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && write(pair[0], "x", 1) == 1; }
NEED(socketpair) { return paired(); }
NEED(sendto) { return paired() && does(sendto, pair[0], "x", 1, 0, 0, 0) == 1; }
NEED(recvfrom) { char b; return paired() && does(recvfrom, pair[1], &b, 1, 0, 0, 0) == 1; }
static struct msghdr message(void) { static char b = 'x'; static struct iovec v = {&b, 1}; return (struct msghdr){.msg_iov = &v, .msg_iovlen = 1}; }
NEED(sendmsg) { struct msghdr m = message(); return paired() && does(sendmsg, pair[0], &m, 0) == 1; }
NEED(recvmsg) { struct msghdr m = message(); return paired() && does(recvmsg, pair[1], &m, 0) == 1; }
NEED(getsockopt) { int v; socklen_t n = sizeof v; return paired() && does(getsockopt, pair[0], SOL_SOCKET, SO_TYPE, &v, &n) == 0 && v == SOCK_STREAM; }
NEED(setsockopt) { int v = 65536; return paired() && does(setsockopt, pair[0], SOL_SOCKET, SO_SNDBUF, &v, sizeof v) == 0; }
NEED(shutdown) { return paired() && does(shutdown, pair[0], SHUT_WR) == 0; }
NEED(getsockname) { struct sockaddr_storage a; socklen_t n = sizeof a; return paired() && does(getsockname, pair[0], &a, &n) == 0; }
NEED(getpeername) { struct sockaddr_storage a; socklen_t n = sizeof a; return paired() && does(getpeername, pair[0], &a, &n) == 0; }

NEED(sched_get_priority_max) { return does(sched_get_priority_max, SCHED_OTHER) == 0; }
NEED(sched_get_priority_min) { return does(sched_get_priority_min, SCHED_OTHER) == 0; }
NEED(sched_getparam) { struct sched_param p; return does(sched_getparam, 0, &p) == 0; }
NEED(sched_getscheduler) { return does(sched_getscheduler, 0) >= 0; }
NEED(getpriority) { return does(getpriority, PRIO_PROCESS, 0) > 0; }
NEED(capget) { struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0}; struct __user_cap_data_struct d[2]; return does(capget, &h, d) == 0; }
NEED(personality) { return does(personality, 0xffffffff) >= 0; }
