/* Signals, threads and time within one process. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#define MUST(x) do { if (!(x)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, strerror(errno)); exit(1); } } while (0)

static volatile sig_atomic_t caught;
static void catch(int sig) { caught = sig; }
static sigjmp_buf back;
static void escape(int sig) { siglongjmp(back, sig); }
static pthread_t first;
static void *later(void *sig) { usleep(30000); pthread_kill(first, (int)(long)sig); return 0; }
static pthread_t tell(int sig) { pthread_t t; caught = 0; MUST(pthread_create(&t, 0, later, (void *)(long)sig) == 0); return t; }
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t together;
static int ready;
static int begun;
static void *start(void *arg) { /* all wait, and are let go together */
	pthread_mutex_lock(&lock);
	ready++;
	while (!begun)
		pthread_cond_wait(&turn, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}
static pthread_mutex_t *shared;
static void *leave(void *arg) { pthread_mutex_lock(shared); return arg; } /* ends with the lock */
static void *work(void *arg) {
	pthread_mutex_lock(&lock);
	ready++;
	pthread_cond_broadcast(&turn);
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&together);
	return arg;
}

int main(void) {
	first = pthread_self();
	struct sigaction act = {.sa_handler = catch};
	MUST(sigaction(SIGUSR1, &act, 0) == 0 && sigaction(SIGUSR2, &act, 0) == 0 && raise(SIGUSR1) == 0 && caught == SIGUSR1);
	pthread_t t = tell(SIGUSR1);
	pause();
	MUST(caught == SIGUSR1 && pthread_join(t, 0) == 0);

	/* block a signal, check that it is pending, receive it */
	sigset_t two, none, waiting;
	sigemptyset(&none), sigemptyset(&two), sigaddset(&two, SIGUSR1), sigaddset(&two, SIGUSR2);
	MUST(sigprocmask(SIG_BLOCK, &two, 0) == 0 && raise(SIGUSR2) == 0 && sigpending(&waiting) == 0 && sigismember(&waiting, SIGUSR2));
	caught = 0;
	MUST(sigsuspend(&none) == -1 && caught == SIGUSR2);
	int got = 0;
	t = tell(SIGUSR1);
	MUST(sigwait(&two, &got) == 0 && got == SIGUSR1 && pthread_join(t, 0) == 0);
	struct timespec soon = {0, 1000000};
	MUST(sigtimedwait(&two, 0, &soon) == -1 && errno == EAGAIN);

	/* a separate stack for the handler of a bad access */
	stack_t alt = {.ss_sp = malloc(65536), .ss_size = 65536};
	act = (struct sigaction){.sa_handler = escape, .sa_flags = SA_ONSTACK};
	char *page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(sigaltstack(&alt, 0) == 0 && sigaction(SIGSEGV, &act, 0) == 0);
	if ((got = sigsetjmp(back, 1)) == 0)
		*(volatile char *)page = 1;
	MUST(got == SIGSEGV);

	/* threads that wait for each other, with and without a timeout */
	pthread_t team[8];
	MUST(pthread_barrier_init(&together, 0, 9) == 0);
	for (int i = 0; i < 8; i++)
		MUST(pthread_create(&team[i], 0, work, 0) == 0);
	pthread_mutex_lock(&lock);
	while (ready < 8)
		pthread_cond_wait(&turn, &lock);
	struct timespec until;
	MUST(clock_gettime(CLOCK_REALTIME, &until) == 0);
	until.tv_nsec += 1000000, until.tv_sec += until.tv_nsec / 1000000000, until.tv_nsec %= 1000000000;
	MUST(pthread_cond_timedwait(&turn, &lock, &until) == ETIMEDOUT);
#ifdef __GLIBC__
	MUST(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
	MUST(pthread_cond_clockwait(&turn, &lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
#endif
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&together);
	for (int i = 0; i < 8; i++)
		MUST(pthread_join(team[i], 0) == 0);
	MUST(sched_yield() == 0);
	ready = 0;
	for (int i = 0; i < 8; i++)
		MUST(pthread_create(&team[i], 0, start, 0) == 0);
	for (int n = 0; n < 8; usleep(1000)) {
		pthread_mutex_lock(&lock);
		n = ready;
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	begun = 1;
	pthread_cond_broadcast(&turn);
	usleep(1000);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 8; i++)
		MUST(pthread_join(team[i], 0) == 0);

	/* a mutex that processes could share; its owner ends without releasing it */
	pthread_mutexattr_t among;
	shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(pthread_mutexattr_init(&among) == 0 && pthread_mutexattr_setpshared(&among, PTHREAD_PROCESS_SHARED) == 0);
	MUST(pthread_mutexattr_setrobust(&among, PTHREAD_MUTEX_ROBUST) == 0 && pthread_mutex_init(shared, &among) == 0);
	MUST(pthread_mutex_lock(shared) == 0 && pthread_mutex_unlock(shared) == 0);
	MUST(pthread_create(&t, 0, leave, 0) == 0 && pthread_join(t, 0) == 0 && pthread_mutex_lock(shared) == EOWNERDEAD);

	/* sleeping and the clocks */
	struct timespec a, b, ms = {0, 2000000};
	struct timeval day, tenth = {0, 1000};
	clock_gettime(CLOCK_MONOTONIC, &a);
	MUST(nanosleep(&ms, 0) == 0 && clock_nanosleep(CLOCK_REALTIME, 0, &ms, 0) == 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, 0) == 0 && usleep(1000) == 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	MUST((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec >= 7000000);
	MUST(clock_getres(CLOCK_MONOTONIC, &ms) == 0 && ms.tv_nsec > 0 && gettimeofday(&day, 0) == 0 && time(0) >= day.tv_sec && clock() >= 0);
	MUST(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ms) == 0 && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ms) == 0);
	struct pollfd in = {0, POLLIN, 0};
	fd_set set;
	FD_ZERO(&set);
	FD_SET(0, &set);
	MUST(poll(&in, 1, 0) >= 0 && ppoll(&in, 1, &soon, 0) >= 0 && select(1, &set, 0, 0, &tenth) >= 0 && pselect(1, &set, 0, 0, &soon, 0) >= 0);
	puts("signals ok");
}
