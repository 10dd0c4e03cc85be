package limits

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// SEC-43. A forbidden call of a child is reported even if the program ends by itself while the call
// waits: right after it, or while the agent takes no calls because it counts locks, or behind many
// refused calls. The control is a child that makes no such call.
func TestHostileLateDenials(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	prog := harness.CompileC(t, "late", `#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
static char state(int pid) { // of a process: R, S, D or Z
	char name[40], text[99] = ""; FILE *f; char *at;
	sprintf(name, "/proc/%d/stat", pid);
	if (!(f = fopen(name, "r"))) return 0;
	if (!fgets(text, sizeof text, f)) text[0] = 0;
	fclose(f);
	return (at = strrchr(text, ')')) && at[1] ? at[2] : 0;
}
static void forbidden(const char *what) { // it tells that it is about to make the call, and waits in it
	int p[2], child; char c, is;
	if (pipe(p)) exit(9);
	if (!(child = fork())) { write(p[1], "x", 1); if (strcmp(what, "none")) syscall(SYS_ptrace, 0, 0, 0, 0); _exit(1); }
	if (read(p[0], &c, 1) != 1) exit(9);
	while ((is = state(child)) == 'R' || is == 'D') usleep(1000);
	if (!is) exit(8);
}
int main(int argc, char **argv) {
	if (!strcmp(argv[1], "locks")) { // a count of locks that takes long, after which no call is taken for a while
		int ep = epoll_create1(0), lock = open("/box/lock", O_CREAT | O_RDWR, 0600);
		for (int k = 0; k < 3; k++) {
			int fds[120];
			for (int i = 0; i < 120; i++) fds[i] = eventfd(0, 0);
			for (int i = 0; i < 120; i++) for (int to = 130; to < 250; to++) {
				struct epoll_event e = {EPOLLIN, {.u64 = -1}};
				if (dup2(fds[i], to) >= 0) epoll_ctl(ep, EPOLL_CTL_ADD, to, &e);
			}
			for (int to = 130; to < 250; to++) close(to);
			if (!fork()) { close(ep); pause(); }
			for (int i = 0; i < 120; i++) close(fds[i]);
		}
		struct flock f = {.l_type = F_WRLCK, .l_len = 1};
		for (int i = 0; i < 4097; i++) fcntl(lock, F_SETLK, &f);
	}
	if (!strcmp(argv[1], "queue")) for (int i = 0; i < 60; i++) if (!fork()) for (;;) syscall(SYS_socket, 2, 1, 0);
	forbidden(argv[1]);
	return 0;
}`)

	for how, want := range map[string]api.Verdict{"none": api.OK, "once": api.Denied, "locks": api.Denied, "queue": api.Denied} {
		t.Run(how, func(t *testing.T) {
			for range 6 {
				r := harness.Program(prog, how)
				r.Limits = api.Limits{Wall: harness.Slowly(20), CPU: harness.Slowly(20)}
				res := a.MustRun(t, r)
				harness.WantVerdict(t, res, want)
				if want == api.Denied && (res.Denial == nil || res.Denial.Syscall != "ptrace") {
					t.Errorf("denial %+v", res.Denial)
				}
			}
		})
	}
}
