package neighbours

import (
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// MEM-40. The bound holds if threads end while the locks are counted: the descriptor table that was
// read through one of them still belongs to the others.
func TestRecordLocksOfThreadsThatEnd(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	prog := harness.CompileC(t, "ends", `#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static pthread_attr_t small;
static _Atomic long since, place;
static int fd;
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
// One thread takes locks until a call takes long, which is a count. Then another goes on,
// and this one, which has the lowest number, ends in the middle of the next count.
static void *take(void *unused) {
	for (;;) {
		struct flock l = {.l_type = F_WRLCK, .l_start = 2 * place++, .l_len = 1};
		long begun = now();
		since = begun;
		fcntl(fd, F_SETLK, &l);
		since = 0;
		if (now() - begun < 1000000) continue;
		pthread_t next;
		if (pthread_create(&next, &small, take, 0)) return 0;
		for (long s; !(s = since) || now() - s < 1000000;) usleep(100);
		syscall(SYS_exit, 0);
	}
}
int main(void) {
	for (int i = 0; i < 2; i++) // what makes a count take long
		if (!fork()) { int f = open("pad", O_RDWR | O_CREAT, 0600); while (dup(f) >= 0) ; pause(); }
	if (!fork()) {
		fd = open("f", O_RDWR | O_CREAT, 0600);
		pthread_attr_init(&small);
		pthread_attr_setstacksize(&small, 65536);
		pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
		take(0);
	}
	pause(); }`)

	res, maximum := takesLocks(t, a, harness.Program(prog), 8, 3000)
	if maximum > 10_000+600 || maximum < 3000 { // plus the host's own, and those that a processor caches
		t.Errorf("%d objects; the bound is 10,000, and the test is to make many", maximum)
	}
	t.Logf("%d objects, refused %+v", maximum, res.Refused)
}

// CPU-42. Locks that take long to count do not keep the agent from ending the run in time: each
// descriptor of a file lists all of the file's locks.
func TestCountingLocksKeepsTheWallLimit(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	prog := harness.CompileC(t, "slow", `#include <fcntl.h>
#include <unistd.h>
int main(void) {
	int fd = open("f", O_RDWR | O_CREAT, 0600);
	for (int i = 4000; i > 0; i--) { struct flock l = {.l_type = F_WRLCK, .l_start = 2 * i, .l_len = 1}; fcntl(fd, F_SETLK, &l); }
	while (dup(fd) >= 0) ;
	for (int i = 0; i < 5; i++) if (!fork()) pause();
	for (;;) { struct flock l = {.l_type = F_UNLCK, .l_start = 1L << 40, .l_len = 1}; fcntl(fd, F_SETLK, &l); } }`)

	r := harness.Program(prog)
	r.Limits = api.Limits{Wall: harness.Slowly(2), CPU: harness.Slowly(20), OpenFiles: 4000}
	res := a.MustRun(t, r)
	harness.WantVerdict(t, res, api.WallLimit)
	if late := time.Duration(res.Timing.Wall) - time.Duration(r.Limits.Wall); late > harness.Slow(10*time.Second) {
		t.Errorf("ended %s after its limit", late)
	}
}

// MEM-40. The locks of a program whose first thread has ended are counted like any other's: that
// thread stays in /proc and does not count as one that ended during the count.
func TestRecordLocksWithoutTheFirstThread(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	prog := harness.CompileC(t, "leaderless", `#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *lock(void *unused) {
	int fd = open("f", O_RDWR | O_CREAT, 0600);
	usleep(300000); // until the first thread has ended
	for (int i = 0; i < 30000; i++) {
		struct flock l = {.l_type = i % 2 ? F_UNLCK : F_WRLCK, .l_len = 1};
		if (fcntl(fd, F_SETLK, &l)) exit(1);
	}
	exit(0);
}
int main(void) { pthread_t t; pthread_create(&t, 0, lock, 0); pthread_exit(0); }`)

	r := harness.Program(prog)
	r.Limits.Wall = harness.Slowly(60)
	res := a.MustRun(t, r)
	harness.WantVerdict(t, res, api.OK)
	if len(res.Refused) > 0 {
		t.Errorf("refused %+v", res.Refused)
	}
}
