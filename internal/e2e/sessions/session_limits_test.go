package sessions

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// startBackground starts a process in the session, and other execs can check that it is alive.
func startBackground(t testing.TB, a *harness.Agent, id string) {
	t.Helper()
	a.WantOutput(t, id, "(while :; do if test -e said; then mv said heard; fi; sleep 0.05; done) >/dev/null 2>&1 &", "")
	wantBackgroundAlive(t, a, id)
}

func wantBackgroundAlive(t testing.TB, a *harness.Agent, id string) {
	t.Helper()
	a.WantOutput(t, id, "echo hello > said; until test -e heard; do sleep 0.05; done; cat heard; rm heard", "hello\n")
}

// bigExec is an exec that takes more memory than the given limit.
func bigExec(memory api.Size) api.Exec {
	e := harness.ShellExec("head -c 200000000 /dev/zero | tail -c 150000000 >/dev/null")
	e.Limits.Memory = memory
	return e
}

// An exec that reaches a limit gets that verdict, and all that it has started is killed. Nothing
// else is affected: neither the session, nor what earlier execs left, nor a concurrent exec.
func TestSessionOutlivesTheLimitsOfItsExecs(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2", "--max-wall", "10m")
	s := a.NewSession(t, nil)
	startBackground(t, a, s.ID)
	other := make(chan string, 1)
	go func() {
		e := harness.ShellExec("until test -e enough; do sleep 0.1; done; echo whole")
		e.Limits.Wall = harness.Slowly(60)
		res, err := a.Exec(t.Context(), s.ID, e)
		other <- fmt.Sprintf("%s %v %q", res.Verdict, err, res.Stdout)
	}()

	for _, tt := range []struct {
		name string
		exec api.Exec
		want api.Verdict
	}{
		{"its memory", bigExec(16 * api.MiB), api.MemoryLimit},
		{"the session's memory", bigExec(0), api.MemoryLimit},
		{"wall time", api.Exec{Argv: []string{"/bin/sh", "-c", "sleep 90 & setsid sleep 91 & sleep 92"},
			Limits: api.Limits{Wall: harness.Seconds(0.3)}}, api.WallLimit},
		{"processor time", api.Exec{Argv: []string{"/bin/sh", "-c", "while :; do :; done"},
			Limits: api.Limits{CPU: harness.Seconds(0.2), Wall: harness.Seconds(25)}}, api.CPULimit},
		{"output", api.Exec{Argv: []string{"yes"}, Limits: api.Limits{Output: 1000}}, api.OutputLimit},
		{"processes", api.Exec{Argv: []string{"/bin/sh", "-c", "for i in 1 2 3 4 5 6; do sleep 9 & done; exit 7"},
			Limits: api.Limits{Pids: 3}}, api.Nonzero},
	} {
		res := a.MustExec(t, s.ID, tt.exec)
		if res.Verdict != tt.want {
			t.Errorf("%s: %s (%v, exit %d, stderr %q); want %s", tt.name, res.Verdict, res.LimitsHit, res.ExitCode, res.Stderr, tt.want)
		}
		wantBackgroundAlive(t, a, s.ID)
	}

	now, err := a.Session(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if now.Running != 1 || now.State != api.SessionRunning || now.IdleEnds != "" {
		t.Errorf("next to the exec that goes on the session is %+v", now)
	}

	a.WantOutput(t, s.ID, "touch enough", "")
	if got := <-other; got != `ok <nil> "whole\n"` {
		t.Errorf("the exec next to them ended with %s", got)
	}

	// Those of "processes" still sleep; the others' are dead.
	a.WantOutput(t, s.ID, "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done | grep -c 'sleep 9[0-9]' || true", "0\n")
}

// A fork bomb is bounded by its exec's limit, and by the session's limit if it stays behind. A
// session ends within five seconds whatever runs in it.
func TestSessionEndsWithAForkBombInside(t *testing.T) {
	a := harness.StartAgent(t)
	bomb := harness.CompileC(t, "bomb", `#include <unistd.h>
#include <signal.h>
int main(void) {
	for (int i = 1; i < 65; i++) signal(i, SIG_IGN);
	for (;;) if (fork() == 0) setsid();
}`)

	s := a.NewSession(t, func(s *api.SessionRequest) { s.Limits.Pids = 64 })
	if err := a.PutFile(t.Context(), s.ID, "bomb", bytes.NewReader(bomb.Content), true); err != nil {
		t.Fatal(err)
	}

	res := a.MustExec(t, s.ID, api.Exec{Argv: []string{"./bomb"}, Limits: api.Limits{Pids: 20, Wall: harness.Slowly(3),
		CPU: harness.Slowly(20)}})

	// On a fast machine the kernel's own memory for refused forks, which is freed later than it is
	// taken, reaches the memory limit first.
	if res.Verdict != api.MemoryLimit {
		harness.WantVerdict(t, res, api.WallLimit)
	}
	if !slices.Contains(res.LimitsHit, "pids") {
		t.Errorf("it hit %v and not its number of processes", res.LimitsHit)
	}

	a.WantOutput(t, s.ID, "echo and on", "and on\n")
	for range 5 { // for the same reason
		if res = a.MustExec(t, s.ID, harness.ShellExec("(./bomb &) >/dev/null 2>&1")); res.Verdict != api.MemoryLimit {
			break
		}
	}

	harness.WantVerdict(t, res, api.OK)

	for deadline := harness.Patience(); ; time.Sleep(20 * time.Millisecond) {
		now, err := a.Session(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if *now.Usage.Processes.Value > 50 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is no bomb: %+v", now.Usage)
		}
	}

	begun := time.Now()
	if err := a.DeleteSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > harness.Slow(20*time.Second) {
		t.Errorf("its end took %s; want less than 20 s", took)
	}
	if left := harness.ProcessesNamed(t, "./bomb"); len(left) != 0 {
		t.Errorf("processes outlive the session: %v", left)
	}
}

// A call of the kill set ends the exec that made it, also among several concurrent execs; a call
// from a background process ends that process.
func TestSessionDeniesByExec(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	s := a.NewSession(t, nil)
	denied := harness.CompileC(t, "denied", `#include <sys/ptrace.h>
#include <unistd.h>
int main(int argc, char **argv) { if (argc > 1) sleep(1); ptrace(PTRACE_TRACEME, 0, 0, 0); for (;;) pause(); }`)
	if err := a.PutFile(t.Context(), s.ID, "denied", bytes.NewReader(denied.Content), true); err != nil {
		t.Fatal(err)
	}

	startBackground(t, a, s.ID)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			res, err := a.Exec(t.Context(), s.ID, api.Exec{Argv: []string{"./denied"}})
			if err != nil || res.Verdict != api.Denied || res.Denial == nil || res.Denial.Syscall != "ptrace" {
				t.Errorf("a denied call: %s, %+v, %v", res.Verdict, res.Denial, err)
			}
		})
		wg.Go(func() {
			res, err := a.Exec(t.Context(), s.ID, harness.ShellExec("sleep 0.3; echo fine"))
			if err != nil || res.Verdict != api.OK {
				t.Errorf("next to a denied call: %s, %+v, %v", res.Verdict, res.Denial, err)
			}
		})
	}

	wg.Wait()
	a.WantOutput(t, s.ID, "./denied later >/dev/null 2>&1 &", "")
	for deadline := harness.Patience(); len(harness.ProcessesNamed(t, "./denied")) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a process in the background that made a denied call lives")
		}
	}

	wantBackgroundAlive(t, a, s.ID)
}

// In profile mode log the calls of each exec are let through and listed with that exec, and those
// of the processes that it left are let through.
func TestSessionLogsByExec(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	s := a.NewSession(t, func(s *api.SessionRequest) { s.ProfileMode = api.Log })
	calls := harness.CompileC(t, "calls", `#include <sys/ptrace.h>
#include <unistd.h>
#include <fcntl.h>
int main(int argc, char **argv) {
	if (argc > 1) sleep(1);
	if (ptrace(PTRACE_TRACEME, 0, 0, 0)) return 1;
	if (argc > 1) close(open("done", O_CREAT | O_WRONLY, 0666));
	return 0; }`)
	if err := a.PutFile(t.Context(), s.ID, "calls", bytes.NewReader(calls.Content), true); err != nil {
		t.Fatal(err)
	}

	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			res, err := a.Exec(t.Context(), s.ID, api.Exec{Argv: []string{"./calls"}})
			if err != nil || res.Verdict != api.OK ||
				!slices.ContainsFunc(res.Logged, func(d api.Denial) bool { return d.Syscall == "ptrace" && d.Allowed }) {
				t.Errorf("%s, %+v, %v", res.Verdict, res.Logged, err)
			}
		})

		wg.Go(func() {
			res, err := a.Exec(t.Context(), s.ID, harness.ShellExec("echo quiet"))
			if err != nil || res.Verdict != api.OK || slices.ContainsFunc(res.Logged, func(d api.Denial) bool { return d.Syscall == "ptrace" }) {
				t.Errorf("next to it: %s, %+v, %v", res.Verdict, res.Logged, err)
			}
		})
	}

	wg.Wait()
	a.WantOutput(t, s.ID, "./calls later >/dev/null 2>&1 &", "")
	a.WantOutput(t, s.ID, "until test -e done; do sleep 0.05; done; echo let go", "let go\n")
}

// An exec that the end of its session interrupts reports what it wrote, however that end comes
// about.
func TestExecOfAnEndedSessionKeepsItsOutput(t *testing.T) {
	a := harness.StartParallelAgent(t, "--slots", "2") // one slot is for checking that the exec has begun
	for range 20 {                                     // the kill of the whole session and the agent's own wakeup come in either order
		s := a.NewSession(t, nil)
		done := harness.LongExec(t, a, s.ID)
		if err := a.DeleteSession(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
		harness.WantSessionEnded(t, <-done, "it was deleted")
	}
}

// So does an exec whose cell is killed, as the kernel does when the host runs out of memory: the
// exec's supervisor may notice it before the session does.
func TestExecOfADeadCellKeepsItsOutput(t *testing.T) {
	a := harness.StartParallelAgent(t, "--slots", "4") // one slot is for checking the last of three
	for range 10 {
		s := a.NewSession(t, nil)
		var done []<-chan api.Result
		for range 3 {
			done = append(done, harness.LongExec(t, a, s.ID))
		}
		killCell(t, a)
		for _, d := range done {
			harness.WantSessionEnded(t, <-d, "its cell died")
		}
	}
}

// killCell kills the first process of the only session.
func killCell(t *testing.T, a *harness.Agent) {
	t.Helper()
	parent := fmt.Sprintf("\nPPid:\t%d\n", a.Cmd.Process.Pid)
	for _, list := range a.ReadGroupFiles(t, "*session-*/execs/exec-*/cgroup.procs") { // a cell made ahead has none
		for _, pid := range strings.Fields(list) {
			for pid != "0" {
				status, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
				if err != nil {
					break // it has ended
				}
				if !strings.Contains(string(status), parent) {
					_, above, _ := strings.Cut(string(status), "\nPPid:\t")
					pid, _, _ = strings.Cut(above, "\n")
					continue
				}

				first, err := strconv.Atoi(pid)
				if err == nil {
					err = syscall.Kill(first, syscall.SIGKILL)
				}
				if err != nil {
					t.Fatal(err)
				}
				return
			}
		}
	}
	t.Fatal("no cell's first process was found")
}

// A session ends when it is idle for too long, or when its life is over, and reports which. An exec
// under way keeps it from being idle, but not from reaching the end of its life.
func TestSessionLifeTimes(t *testing.T) {
	a := harness.StartParallelAgent(t, "--slots", "2")
	const life, idleTime = 20, 5
	short := a.NewSession(t, func(s *api.SessionRequest) { s.Life = harness.Seconds(life) })
	done := harness.LongExec(t, a, short.ID)
	idle := a.NewSession(t, func(s *api.SessionRequest) { s.Idle = harness.Slowly(idleTime) })
	a.WantOutput(t, idle.ID, fmt.Sprintf("sleep %d; echo not idle", int(harness.Slow(idleTime*time.Second).Seconds())+1), "not idle\n")
	ended := func(id, why string) {
		t.Helper()

		for deadline := harness.Patience(); ; time.Sleep(50 * time.Millisecond) {
			_, err := a.Session(t.Context(), id)
			var e *api.Error
			switch {
			case errors.As(err, &e) && e.Code == api.CodeSessionEnded && strings.Contains(e.Message, why):
				return
			case err != nil:
				t.Errorf("the session's end is reported as %v; want %q", err, why)
				return
			case time.Now().After(deadline):
				t.Errorf("session %s lives", id)
				return
			}
		}
	}

	ended(idle.ID, "it was idle for "+harness.Slowly(idleTime).String())
	ended(short.ID, "that time is over")
	harness.WantSessionEnded(t, <-done, "that time is over")
	_, err := a.CreateSession(t.Context(), api.SessionRequest{Image: "tiny", Life: api.Duration(9 * time.Hour)})
	harness.WantCode(t, err, api.CodeAboveCeiling)
}

// The number of sessions is limited, and memory is reserved for them as for runs.
func TestSessionsAreAdmitted(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--sessions", "2", "--memory", "256M")
	small := func(s *api.SessionRequest) { s.Limits = api.Limits{Memory: 100 * api.MiB, Scratch: 8 * api.MiB} }
	first, second := a.NewSession(t, small), a.NewSession(t, small)
	_, err := a.CreateSession(t.Context(), api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 8 * api.MiB}})
	if e := harness.WantCode(t, err, api.CodeSessionsFull); !e.RetrySafe {
		t.Errorf("%v is not retry-safe", e)
	}

	large := harness.Sh("true")
	large.Limits.Memory = 64 * api.MiB
	a.Refused(t, large, api.CodeOverloaded)
	large.Limits.Memory = 32 * api.MiB
	harness.WantVerdict(t, a.MustRun(t, large), api.OK)
	h, err := a.Health(t.Context())
	if err != nil || h.Sessions != 2 || h.SessionsMax != 2 || h.Leased != 0 || h.Memory != int64(216*api.MiB) {
		t.Errorf("health: %+v, %v", h, err)
	}
	if err := a.DeleteSession(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}

	_, err = a.CreateSession(t.Context(), api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 160 * api.MiB}})
	harness.WantCode(t, err, api.CodeOverloaded)
	a.NewSession(t, small)
	a.WantOutput(t, second.ID, "echo lives", "lives\n")
	_, err = a.Client.Exec(t.Context(), second.ID, api.Exec{Argv: []string{"true"}, Limits: api.Limits{Memory: 101 * api.MiB}})
	harness.WantCode(t, err, api.CodeAboveCeiling)
	_, err = a.Client.Exec(t.Context(), second.ID, api.Exec{Argv: []string{"nosuch"}})
	harness.WantCode(t, err, api.CodeNoProgram)
	_, err = a.Client.Exec(t.Context(), second.ID, api.Exec{Source: []byte("1")})
	harness.WantCode(t, err, api.CodeBadRequest)
}
