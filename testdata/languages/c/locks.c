/* Two processes that share a file take turns. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define MUST(x) do { if (!(x)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, strerror(errno)); exit(1); } } while (0)

static int count(int f) { char t[16] = ""; return pread(f, t, sizeof t - 1, 0) < 0 ? -1 : atoi(t); }
static void add(int f) { char t[16]; int n = snprintf(t, sizeof t, "%d\n", count(f) + 1); MUST(pwrite(f, t, n, 0) == n); }

static void turns(int whole) {
	int f = open("count", O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < 2; i++)
		if (fork() == 0) {
			int mine = open("count", O_RDWR);
			for (int k = 0; k < 200; k++) {
				MUST((whole ? flock(mine, LOCK_EX) : lockf(mine, F_LOCK, 0)) == 0);
				add(mine);
				MUST((whole ? flock(mine, LOCK_UN) : lockf(mine, F_ULOCK, 0)) == 0);
			}
			_exit(0);
		}
	int s, bad = 0;
	while (wait(&s) > 0)
		bad |= s;
	MUST(!bad && count(f) == 400 && close(f) == 0);
}

int main(void) {
	turns(0);
	turns(1);
	int f = open("count", O_RDWR), s;
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 5};
	MUST(fcntl(f, F_SETLK, &l) == 0);
	if (fork() == 0) {
		MUST(fcntl(f, F_GETLK, &l) == 0 && l.l_type == F_WRLCK && l.l_pid == getppid());
		_exit(0);
	}
	MUST(wait(&s) > 0 && s == 0);
	sem_t *sem = sem_open("/turn", O_CREAT, 0600, 1);
	MUST(sem != SEM_FAILED && sem_wait(sem) == 0);
	if (fork() == 0) /* waits for its parent, and not by spinning */
		_exit(sem_wait(sem) == 0 && sem_post(sem) == 0 && clock() < CLOCKS_PER_SEC / 20 ? 0 : 1);
	sleep(1);
	MUST(sem_post(sem) == 0 && wait(&s) > 0 && s == 0 && sem_close(sem) == 0 && sem_unlink("/turn") == 0);
	puts("locks ok");
}
