package neighbours

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/seccomp"
)

// MEM-41. No run creates more than 10,000 lock objects with flock, which are charged to no group:
// not with many open files in many processes, nor with files that are closed and stay mapped, nor
// when descriptors move from one number to another, or from parent to child, while the agent
// counts.
func TestFileLocksAreBounded(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	prog := harness.CompileC(t, "flocks", `#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>
static int refused[2]; // a pipe, for the first call that is refused
static int locked(void) {
	static char name[20]; // of its own: the kernel looks through all locks of a file
	if (!*name) sprintf(name, "f%d", getpid());
	int f = open(name, O_RDWR | O_CREAT, 0600);
	if (f < 0 || !flock(f, LOCK_SH)) return f;
	static int told;
	if (errno == ENOLCK && !told) told = write(refused[1], "", 1);
	close(f);
	return -1;
}
static void *move(void *unused) { // each descriptor to a low number and back, without end
	for (;;) for (int to = 0; to < 2; to++)
		for (int i = 1; i < 1900; i++) {
			int from = to ? i + 2000 : i + 50, at = to ? i + 50 : i + 2000;
			if (dup2(from, at) >= 0) close(from);
		}
}
int main(int argc, char **argv) {
	char c;
	if (pipe(refused)) return 1;
	if (fork()) { // waits, and runs not once meanwhile; then the others have a time to go beyond the bound
		if (read(refused[0], &c, 1) != 1) return 1;
		sleep(1);
		return 0;
	}
	close(1), close(2); // or the run would wait for those that go on
	if (!strcmp(argv[1], "open")) { // in 20 processes
		for (int i = 0; i < 19 && fork(); i++) ;
		while (locked() >= 0) ;
	} else if (!strcmp(argv[1], "mapped")) {
		for (int f; (f = locked()) >= 0; close(f)) mmap(0, 4096, PROT_READ, MAP_SHARED, f, 0);
	} else if (!strcmp(argv[1], "moved")) { // and dropped into a mapping when the table is full
		for (int i = 0; i < 9 && fork(); i++) ;
		pthread_t t;
		for (int i = 1; i < 1900; i++) { int f = locked(); if (f >= 0) dup2(f, i + 50), close(f); }
		pthread_create(&t, 0, move, 0);
		for (int i = 0; i < 60000; i++) { int f = locked(); if (f >= 0) close(f); }
	} else { // forked: each child has what its parent had, and more
		for (int i = 0; i < 20; i++) if (!fork()) for (int i = 0; i < 3000; i++) {
			locked();
			if (i % 20 == 0 && fork()) _exit(0);
		}
	}
	pause();
}`)

	for _, how := range []string{"open", "mapped", "moved", "forked"} {
		t.Run(how, func(t *testing.T) {
			before, maximum := lockObjects(t), 0
			r := harness.Program(prog, how)
			r.Limits = api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(60), OpenFiles: 4000}
			done := a.RunAsync(t, r)
			for {
				select {
				case res := <-done:
					t.Logf("%d objects, %s, wall %s, refused %+v", maximum, res.Verdict, time.Duration(res.Timing.Wall), res.Refused)
					harness.WantVerdict(t, res, api.OK)         // it has come to the bound
					if maximum > 10_000+600 || maximum < 3000 { // plus the host's own, and those that a processor caches
						t.Errorf("%d objects; the bound is 10,000, and the test is to make many", maximum)
					}
					if len(res.Refused) != 1 || res.Refused[0].Errno != "ENOLCK" || res.Refused[0].Syscall != "flock" {
						t.Errorf("refused %+v; want flock with ENOLCK", res.Refused)
					}
					return
				case <-time.After(20 * time.Millisecond):
					maximum = max(maximum, lockObjects(t)-before)
				}
			}
		})
	}
}

// A program that releases what it locks can continue without limit: by closing the file or by
// LOCK_UN, with sleeping threads, or with several processes that wait for one another.
func TestReleasedFileLocksAreUnlimited(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	prog := harness.CompileC(t, "returned", `#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
static void *sleeps(void *unused) { for (;;) pause(); }
static int closed(int n) {
	for (int i = 0; i < n; i++) {
		int f = open("f", O_RDWR | O_CREAT | O_APPEND, 0600);
		if (f < 0 || flock(f, LOCK_EX) || write(f, "x", 1) != 1 || close(f)) { perror("closed"); return 1; }
	}
	return 0;
}
int main(int argc, char **argv) {
	if (!strcmp(argv[1], "closed")) {
		pthread_t t;
		for (int i = 0; i < 8; i++) pthread_create(&t, 0, sleeps, 0);
		return closed(40000);
	}
	if (!strcmp(argv[1], "unlocked")) {
		int f = open("f", O_RDWR | O_CREAT, 0600);
		for (int i = 0; i < 40000; i++) if (flock(f, LOCK_EX) || flock(f, LOCK_UN)) { perror("unlocked"); return 1; }
		return 0;
	}
	for (int i = 0; i < 4; i++) if (!fork()) return closed(6000);
	int status, bad = 0;
	while (wait(&status) > 0) bad |= status;
	return !!bad;
}`)

	for _, how := range []string{"closed", "unlocked", "processes"} {
		t.Run(how, func(t *testing.T) {
			r := harness.Program(prog, how)
			r.Limits.Wall = harness.Slowly(100)
			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.OK)
			if len(res.Refused) > 0 {
				t.Errorf("refused: %+v", res.Refused)
			}
			t.Logf("wall %s", time.Duration(res.Timing.Wall))
		})
	}

	// The same in a session, with a process that an exec has left asleep there.
	id := a.NewSession(t, nil).ID
	a.WantOutput(t, id, "sleep 600 >/dev/null 2>&1 & echo", "\n")
	if err := a.PutFile(t.Context(), id, "returned", bytes.NewReader(prog.Content), true); err != nil {
		t.Fatal(err)
	}

	res := a.MustExec(t, id, api.Exec{Argv: []string{"./returned", "closed"}, Limits: api.Limits{Wall: harness.Slowly(100)}})
	if res.Verdict != api.OK || len(res.Refused) > 0 {
		t.Errorf("in a session: %s, %s, refused %+v", res.Verdict, res.Stderr, res.Refused)
	}
}

// MEM-41. With a profile that allows every command of fcntl, record locks are counted. Open file
// description locks, which a mapping would keep where they cannot be counted, and leases are
// refused; a profile that names these is refused.
func TestOpenFileDescriptionLocksAreRefused(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	prog := harness.CompileC(t, "openfile", `#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	long records = 0, open_files = 0, leases = 0, others = 0;
	for (int i = 0; i < 10; i++) {
		char name[20];
		sprintf(name, "f%d", i);
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		for (int k = 0; k < 2000; k++) {
			struct flock l = {.l_type = F_WRLCK, .l_start = 2 * k, .l_len = 1};
			if (!fcntl(fd, F_OFD_SETLK, &l)) open_files++; else if (errno != EINVAL) others++;
		}
		if (!fcntl(fd, F_SETLEASE, F_WRLCK)) leases++; else if (errno != EINVAL) others++;
		mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
		if (i) close(fd);
	}
	struct flock l = {.l_type = F_WRLCK, .l_len = 1};
	int fd = open("g", O_RDWR | O_CREAT, 0600);
	if (!fcntl(fd, F_SETLK, &l)) records++;
	if (fcntl(fd, F_GETOWN) < 0) others++;
	printf("%ld %ld %ld %ld\n", records, open_files, leases, others);
	fflush(stdout);
	sleep(1);
	return 0;
}`)

	p, err := seccomp.Tier("default")
	if err != nil {
		t.Fatal(err)
	}

	p.Name = "own"
	rule := seccomp.Rule{Names: []string{"fcntl"}, Answer: seccomp.Allow(), Why: "all of it"}
	own := func(r seccomp.Rule) api.Run {
		q := p
		q.Rules = append(slices.Clone(p.Rules), r)
		run := harness.Program(prog)
		run.Limits.Wall = harness.Slowly(100)
		if run.ProfileRules, err = json.Marshal(q); err != nil {
			t.Fatal(err)
		}
		return run
	}

	before, maximum := lockObjects(t), 0
	done := a.RunAsync(t, own(rule))
	for over := false; !over; {
		select {
		case res := <-done:
			harness.WantVerdict(t, res, api.OK)
			if string(res.Stdout) != "1 0 0 0\n" {
				t.Errorf("%q; want one record lock, and no lock of an open file, lease or other error", res.Stdout)
			}
			if len(res.Refused) != 1 || res.Refused[0].Syscall != "fcntl" || res.Refused[0].Errno != "EINVAL" || res.Refused[0].Count != 20_010 {
				t.Errorf("refused: %+v; want fcntl with EINVAL", res.Refused)
			}
			over = true
		case <-time.After(20 * time.Millisecond):
			maximum = max(maximum, lockObjects(t)-before)
		}
	}

	if maximum > 1000 {
		t.Errorf("%d objects", maximum)
	}

	for _, command := range []uint64{37, 1024} {
		rule.Args = []seccomp.ArgCond{{Index: 1, Value: command}}
		_, err := a.Client.Run(t.Context(), own(rule))
		var refusal *api.Error
		if !errors.As(err, &refusal) || refusal.Code != api.CodeBadProfile || !strings.Contains(refusal.Message, "F_OFD_SETLK") {
			t.Errorf("a profile that names command %d of fcntl: %v; want it refused by name", command, err)
		}
	}
}
