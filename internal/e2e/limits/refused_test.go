package limits

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A call that the profile refuses with an error is named in the result, with its count, profile and
// error. Calls that libraries can do without are not named.
func TestRefusedCallsAreNamed(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	r := harness.Program(harness.CompileC(t, "refused", `#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/ioctl.h>
#include <unistd.h>
int main(void) {
	for (int i = 0; i < 3; i++) alarm(1);
	chdir("/tmp"); umask(0); setsid(); // of these cellinit makes some as well
	syscall(SYS_openat2, -1, 0, 0, 0);
	ioctl(1, 0x5412, "x");
	return 3; }`))

	r.Profile = "strict"
	res := a.MustRun(t, r)
	harness.WantVerdict(t, res, api.Nonzero)
	want := []api.Refusal{{Syscall: "alarm", Profile: "strict", Errno: "EPERM", Count: 3}}
	for _, n := range []string{"chdir", "umask", "setsid"} {
		want = append(want, api.Refusal{Syscall: n, Profile: "strict", Errno: "EPERM", Count: 1})
	}

	if !slices.Equal(res.Refused, want) {
		t.Errorf("refused: %+v; want %+v", res.Refused, want)
	}

	r.Profile = "default"
	if res := a.MustRun(t, r); len(res.Refused) > 0 {
		t.Errorf("in the default tier: %+v", res.Refused)
	}
}

// In a session each result names the refused calls of its exec.
func TestSessionReportsRefusedCallsByExec(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	s := a.NewSession(t, func(s *api.SessionRequest) { s.Profile = "strict" })
	prog := harness.CompileC(t, "alarms", `#include <unistd.h>
#include <stdlib.h>
int main(int argc, char **argv) { for (int i = 0; i < atoi(argv[1]); i++) alarm(0); return 0; }`)
	if err := a.PutFile(t.Context(), s.ID, "alarms", bytes.NewReader(prog.Content), true); err != nil {
		t.Fatal(err)
	}

	for _, n := range []int64{2, 5, 0} {
		res, err := a.Exec(t.Context(), s.ID, api.Exec{Argv: []string{"./alarms", fmt.Sprint(n)}})
		if err != nil || res.Verdict != api.OK {
			t.Fatalf("%s, %v", res.Verdict, err)
		}

		var got int64
		for _, one := range res.Refused {
			if one.Syscall == "alarm" {
				got += one.Count
			}
		}

		if got != n {
			t.Errorf("%d calls of alarm are reported as %+v", n, res.Refused)
		}
	}
}

// PID-40. A program that makes refused calls without end only harms itself: the agent answers some
// 10,000 a second, also from several threads, and a call of the kill set among them still ends the
// run.
func TestStormOfRefusedCallsIsBounded(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	storm := harness.CompileC(t, "storm", `#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/ptrace.h>
#include <pthread.h>
#include <unistd.h>
static void *many(void *p) { for (;;) syscall(SYS_sethostname, "x", 1); }
int main(int argc, char **argv) {
	pthread_t t;
	for (int i = 0; i < 20; i++) pthread_create(&t, 0, many, 0);
	sleep(1);
	if (argc > 1) ptrace(PTRACE_TRACEME, 0, 0, 0);
	pause(); }`)

	r := harness.Program(storm)
	r.Limits.Wall = harness.Seconds(4)
	a.MustRun(t, harness.Program(harness.CompileC(t, "warm", "int main(void) { return 0; }")))
	before := a.AgentTime(t)
	res := a.MustRun(t, r)
	used := a.AgentTime(t) - before
	harness.WantVerdict(t, res, api.WallLimit)
	if len(res.Refused) != 1 || res.Refused[0].Count < 1000 || res.Refused[0].Count > 60_000 {
		t.Errorf("refused: %+v; want some 41,000 calls in 4 s", res.Refused)
	}
	if used > harness.Slow(1200*time.Millisecond) { // a quarter of a processor and the run's own setup
		t.Errorf("the agent used %s of processor time for a run of 4 s", used)
	}

	t.Logf("%d calls, %s of the agent's processor time", res.Refused[0].Count, used)
	r = harness.Program(storm, "denied")
	r.Limits.Wall = harness.Slowly(20)
	harness.WantVerdict(t, a.MustRun(t, r), api.Denied)
}
