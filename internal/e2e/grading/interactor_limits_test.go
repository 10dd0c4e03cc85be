package grading

import (
	"fmt"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// acts is a program that computes for so many milliseconds, or takes memory or writes to stderr without end.
func acts(t testing.TB) []api.File {
	t.Helper()
	return []api.File{harness.CompileC(t, "act", `#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {
	static char text[65536];
	for (; !strcmp(argv[1], "eat");) memset(malloc(1 << 20), 1, 1 << 20);
	for (; !strcmp(argv[1], "flood");) write(2, text, sizeof text);
	clock_t until = atol(argv[1]) * (CLOCKS_PER_SEC / 1000);
	while (clock() < until);
	return 0; }`)}
}

// GRD-29: the time in which an interactor computes is not the program's, however long that is: a program that waits
// for its judge is not too slow, and one that waits for ever is as slow as ever. An interactor that computes too long
// failed.
func TestSlowInteractorsAreNoVerdict(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	own := acts(t)
	burn := func(s float64) string { return fmt.Sprintf("./act %d; ", int64(harness.Slowly(s))/1e6) }
	// pace is how much longer than a second a busy machine takes to compute for a second.
	pace := func() float64 {
		r := api.Run{Image: "tiny", Files: own, Argv: []string{"./act", "1000"}}
		return max(1, float64(a.MustRun(t, r).Timing.Wall)/float64(time.Second))
	}
	some := harness.NewShare(2)
	for n, tt := range []struct {
		name, interactor, program, want string
		manager                         bool // the same as a manager, too
	}{
		{"it computes before it answers", burn(1.3) + "echo go; exit 42", "read a || exit 9", "ok accepted", true},
		{"it computes for each answer", "for i in 1 2 3; do " + burn(0.45) + "echo go; done; exit 42",
			"read a; read a; read a || exit 9", "ok accepted", false},
		{"it computes after the program has waited",
			fmt.Sprintf("sleep %.1f; ", time.Duration(harness.Slowly(0.4)).Seconds()) + burn(1) + "echo go; exit 42",
			"read a || exit 9", "ok accepted", false},
		{"it computes, and then the program waits for ever", burn(0.9) + "echo go; read g; exit 42", "read a; sleep 100", "wall-limit ", true},
		{"it computes, and then both wait", burn(0.9) + "read g; exit 42", "read a", "wall-limit ", false},
		{"it sleeps", "sleep 100; exit 42", "read a", "wall-limit ", false},
		{"it computes too long", burn(30) + "exit 42", "read a", "check-failed", true},
		{"it computes too long for a program that computes", burn(30) + "exit 42", "./act 600000", "cpu-limit ", false},
	} {
		if some.LeavesOut(tt.want) {
			continue
		}
		for _, asManager := range []bool{false, true} {
			if asManager && (!tt.manager || harness.LeftOut(n, 3)) {
				continue
			}
			t.Run(fmt.Sprintf("%s, manager %v", tt.name, asManager), func(t *testing.T) {
				r := talks(tt.program, api.StdIO)
				r.Files = own
				r.Interactor = interactor(api.ProtocolKattis, tt.interactor)
				if asManager {
					r.Interactor = manager(`(`+tt.interactor+`) <$1 >$2; [ $? = 42 ] && echo 1`, 0, api.StdIO)
				}

				r.Interactor.Files, r.Interactor.Limits.CPU = own, harness.Slowly(1.6)
				r.Limits.CPU = harness.Slowly(0.5)
				r.Tests = []api.Test{{ID: "1"}}
				var begun time.Time
				var got string
				var err error
				for try := 0; try < 5 && got != tt.want; try++ { // each time as long as the machine takes now
					r.Limits.Wall = harness.Slowly(1.2 * pace())
					if tt.want == "cpu-limit " { // on a busy machine that takes longer
						r.Limits.Wall = harness.Slowly(30)
					}
					begun = time.Now()
					got, err = judgedRun(t, a, r)
				}

				if got != tt.want {
					t.Errorf("%q, want %q (%v)", got, tt.want, err)
				}
				if took := time.Since(begun); took > harness.Slow(40*time.Second) {
					t.Errorf("it took %s", took)
				}
			})
		}
	}
}

// judgedRun is the verdict and the answer of the only test of a run, or the error check-failed.
func judgedRun(t *testing.T, a *harness.Agent, r api.Run) (string, error) {
	t.Helper()
	res, err := a.RunPatiently(t, r)
	switch {
	case api.HasCode(err, api.CodeCheckFailed):
		return string(api.CodeCheckFailed), err
	case err != nil:
		t.Fatal(err)
	}
	one := res.Tests[0]
	return fmt.Sprintf("%s %s", one.Result.Verdict, one.Answer), nil
}

// GRD-30: a program that failed before its interactor ended is judged by that, whatever the interactor does or says then:
// no program turns its verdict into an error. If it ended well, an interactor that meets a limit or ends badly by
// itself failed.
func TestLimitsOfProgramsAndInteractors(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	own := acts(t)
	some := harness.NewShare(3)
	for _, program := range []struct {
		name, script string
		verdict      api.Verdict
	}{
		{"wall", "echo 1; sleep 100", api.WallLimit},
		{"cpu", "echo 1; ./act 600000", api.CPULimit},
		{"memory", "echo 1; exec ./act eat", api.MemoryLimit},
		{"output", "echo 1; exec ./act flood", api.OutputLimit},
		{"a signal", "echo 1; kill -11 $$", api.Signaled},
		{"an exit code", "echo 1; exit 3", api.Nonzero},
		{"nothing", "echo 1; exit 0", api.OK},
	} {
		for _, i := range []struct{ name, does, want string }{ // after a program that ended well
			{"waits", "exec sleep 100", "check-failed"},
			{"computes", "exec ./act 600000", "check-failed"},
			{"takes memory", "exec ./act eat", "check-failed"},
			{"floods", "exec ./act flood", "check-failed"},
			{"finds it wrong", "exit 43", "ok wrong-answer"},
			{"ends badly", "exit 0", "check-failed"},
		} {
			if some.LeavesOut(program.name, i.name) {
				continue
			}

			want := i.want
			if program.verdict != api.OK {
				want = string(program.verdict) + " "
			}

			t.Run(program.name+", then it "+i.name, func(t *testing.T) {
				r := talks(program.script, api.StdIO)
				r.Files = own
				r.Interactor = interactor(api.ProtocolKattis, "while read g; do :; done; "+i.does)
				r.Interactor.Files = own
				r.Interactor.Limits = api.Limits{CPU: harness.Slowly(0.5), Wall: harness.Slowly(15), Memory: 32 * api.MiB, Output: api.MiB}
				r.Limits.Wall, r.Limits.CPU, r.Limits.Output = harness.Slowly(15), harness.Slowly(0.3), api.MiB
				computes := program.verdict == api.CPULimit || program.verdict == api.MemoryLimit || program.verdict == api.OutputLimit
				switch { // the others are met late on a busy machine
				case program.verdict == api.WallLimit:
					r.Limits.Wall, r.Interactor.Limits.Wall = harness.Slowly(0.6), harness.Slowly(0.5)
				case i.name == "waits" && !computes:
					r.Interactor.Limits.Wall = harness.Slowly(3)
				}

				r.Tests = []api.Test{{ID: "1"}}
				begun := time.Now()
				got, err := judgedRun(t, a, r)
				if got != want {
					t.Errorf("%q, want %q (%v)", got, want, err)
				}
				if took := time.Since(begun); took > harness.Slow(40*time.Second) {
					t.Errorf("it took %s", took)
				}
			})
		}
	}
}
