/* A program's own processes, and communication between them. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>
#define MUST(x) do { if (!(x)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, strerror(errno)); exit(1); } } while (0)

static volatile sig_atomic_t caught;
static void catch(int sig, siginfo_t *info, void *p) { (void)p; caught = sig == SIGCHLD ? 1 : info->si_value.sival_int; }
static pid_t ends(int code) { pid_t p = fork(); if (p == 0) _exit(code); return p; }

int main(void) {
	int s, fd[2];
	char text[32] = "";
	MUST(system("exit 3") == 3 << 8);
	FILE *f = popen("echo piped", "r");
	MUST(f && fgets(text, sizeof text, f) && strcmp(text, "piped\n") == 0 && pclose(f) == 0);

	pid_t p = ends(7);
	MUST(p > 0 && waitpid(p, &s, 0) == p && WEXITSTATUS(s) == 7);
	struct rusage used;
	p = ends(6);
	MUST(wait4(p, &s, 0, &used) == p && WEXITSTATUS(s) == 6);
	siginfo_t info;
	p = ends(5);
	MUST(waitid(P_PID, p, &info, WEXITED | WNOWAIT) == 0 && info.si_status == 5 && waitid(P_ALL, 0, &info, WEXITED) == 0 && info.si_pid == p);
	p = fork();
	if (p == 0) /* its own process group, as shells make for each job */
		_exit(setpgid(0, 0) == 0 && getpgrp() == getpid() ? 4 : 1);
	setpgid(p, p);
	MUST(waitid(P_PGID, p, &info, WEXITED) == 0 && info.si_status == 4);
	p = vfork();
	if (p == 0) {
		execl("/bin/sh", "sh", "-c", "exit 9", (char *)0);
		_exit(1);
	}
	MUST(p > 0 && waitpid(p, &s, 0) == p && WEXITSTATUS(s) == 9);
	char *argv[] = {"sh", "-c", "exit 8", 0}, *env[] = {0};
	MUST(posix_spawn(&p, "/bin/sh", 0, 0, argv, env) == 0 && waitpid(p, &s, 0) == p && WEXITSTATUS(s) == 8);

	/* a daemon */
	MUST(pipe(fd) == 0);
	if ((p = fork()) == 0) {
		if (fork() == 0) {
			dprintf(fd[1], "%s", setsid() == getpid() && getsid(0) == getpid() ? "leader" : "no");
			_exit(0);
		}
		_exit(0);
	}
	memset(text, 0, sizeof text);
	MUST(waitpid(p, &s, 0) == p && read(fd[0], text, sizeof text) == 6 && strcmp(text, "leader") == 0 && close(fd[0]) == 0 && close(fd[1]) == 0);

	/* filters: a | b */
	int both[2];
	MUST(pipe2(fd, O_CLOEXEC) == 0 && pipe2(both, O_NONBLOCK) == 0 && read(both[0], text, 1) == -1 && errno == EAGAIN);
	if ((p = fork()) == 0) {
		dup2(fd[1], 1);
		execlp("echo", "echo", "through", (char *)0);
		_exit(1);
	}
	memset(text, 0, sizeof text);
	MUST(close(fd[1]) == 0 && read(fd[0], text, sizeof text) == 8 && strcmp(text, "through\n") == 0 && waitpid(p, &s, 0) == p);

	/* signals to each other */
	struct sigaction act = {.sa_sigaction = catch, .sa_flags = SA_SIGINFO};
	MUST(sigaction(SIGUSR1, &act, 0) == 0 && sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 42}) == 0 && caught == 42);
	if ((p = fork()) == 0)
		for (;;)
			pause();
	MUST(kill(p, SIGTERM) == 0 && waitpid(p, &s, 0) == p && WTERMSIG(s) == SIGTERM);

	/* a process that is stopped while it sleeps continues afterwards */
	if ((p = fork()) == 0) {
		struct timespec rest = {0, 300000000};
		_exit(nanosleep(&rest, 0) ? 1 : 0);
	}
	usleep(50000);
	MUST(kill(p, SIGSTOP) == 0 && waitpid(p, &s, WUNTRACED) == p && WIFSTOPPED(s) && kill(p, SIGCONT) == 0);
	MUST(waitpid(p, &s, 0) == p && WIFEXITED(s) && WEXITSTATUS(s) == 0);

	/* shared memory */
	int m = memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	MUST(m >= 0 && ftruncate(m, 4096) == 0);
	int *sum = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, m, 0);
	for (int i = 1; i <= 3; i++)
		if (fork() == 0) {
			__sync_fetch_and_add(sum, i);
			_exit(0);
		}
	while (wait(0) > 0)
		;
	MUST(*sum == 6 && munmap(sum, 4096) == 0 && fcntl(m, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0 && fcntl(m, F_GET_SEALS) == (F_SEAL_SHRINK | F_SEAL_GROW) && ftruncate(m, 1) == -1);

	struct rlimit files = {64, 64};
#ifdef __GLIBC__
	struct sched_param param;
	MUST(sched_getscheduler(0) == SCHED_OTHER && sched_getparam(0, &param) == 0 && sched_get_priority_max(SCHED_OTHER) == 0 && sched_get_priority_min(SCHED_OTHER) == 0);
#endif
	errno = 0;
	MUST(getpriority(PRIO_PROCESS, 0) >= 0 && errno == 0 && setrlimit(RLIMIT_NOFILE, &files) == 0 && getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur == 64);
	puts("processes ok");
}
