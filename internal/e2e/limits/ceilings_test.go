package limits

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Ceilings that were not set on the command line apply too, and each refusal names its ceiling.
func TestDefaultCeilingsRefuseByName(t *testing.T) {
	a := harness.StartAgent(t, "--max-cpu", "5s", "--memory", "3G")
	for _, tt := range []struct {
		name   string
		limits api.Limits
	}{
		{"wall", api.Limits{Wall: harness.Seconds(30.001)}},
		{"cpu", api.Limits{CPU: harness.Seconds(5.001)}},
		{"memory", api.Limits{Memory: 4*api.GiB + 1}},
		{"swap", api.Limits{Swap: 4096}},
		{"pids", api.Limits{Pids: 4097}},
		{"cpus", api.Limits{CPUs: 64.5}},
		{"output", api.Limits{Output: 64*api.MiB + 1}},
		{"scratch", api.Limits{Scratch: api.GiB + 1}},
		{"inodes", api.Limits{Inodes: 200_001}},
		{"open_files", api.Limits{OpenFiles: 4097}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := harness.Sh("exit 0")
			r.Limits = tt.limits
			e := a.Refused(t, r, api.CodeAboveCeiling)
			if !strings.Contains(e.Message, tt.name) || !strings.Contains(e.Message, "ceiling") || e.RetrySafe {
				t.Errorf("message %q (retry-safe %v): name the limit and the ceiling", e.Message, e.RetrySafe)
			}
		})
	}

	want := api.DefaultCeiling()
	want.CPU = harness.Seconds(5)
	if h, err := a.Health(t.Context()); err != nil || h.Ceiling.Over(want) != h.Ceiling || h.Ceiling.CPU != want.CPU ||
		h.Ceiling.Within(want) != nil {
		t.Errorf("the agent says that its ceiling is %+v (%v); want %+v", h.Ceiling, err, want)
	}

	res := a.MustRun(t, harness.Sh("exit 0"))
	if res.Limits.CPU != harness.Seconds(5) || res.Limits.Wall != harness.Seconds(30) {
		t.Errorf("limits in force %+v; want cpu lowered to its ceiling", res.Limits)
	}
}

// Swap is granted up to the operator's ceiling. It is off unless requested, and limits the run
// together with its memory.
func TestSwapWithinTheCeiling(t *testing.T) {
	a := harness.StartAgent(t, "--max-swap", "64M")
	hog := harness.CompileC(t, "hog", `#include <stdlib.h>
#include <string.h>
int main(int c, char **v) { size_t n = atol(v[1]) << 20; char *p = malloc(n); memset(p, 1, n); return p[n-1] != 1; }`)
	r := harness.Program(hog, "40")
	r.Limits = api.Limits{Memory: 32 * api.MiB}
	harness.WantVerdict(t, a.MustRun(t, r), api.MemoryLimit)

	swaps, err := os.ReadFile("/proc/swaps")
	if err != nil {
		t.Fatal(err)
	}

	r.Limits.Swap = 32 * api.MiB
	res := a.MustRun(t, r)
	want := api.MemoryLimit // a host without swap has none to grant
	if strings.Count(string(swaps), "\n") > 1 {
		want = api.OK
	}

	harness.WantVerdict(t, res, want)
	if res.Limits.Swap != 32*api.MiB {
		t.Errorf("swap in force is %s", res.Limits.Swap)
	}

	r = harness.Program(hog, "120")
	r.Limits = api.Limits{Memory: 32 * api.MiB, Swap: 32 * api.MiB}
	harness.WantVerdict(t, a.MustRun(t, r), api.MemoryLimit)
	r = harness.Sh("exit 0")
	r.Limits.Swap = 65 * api.MiB
	if e := a.Refused(t, r, api.CodeAboveCeiling); !strings.Contains(e.Message, "64M") {
		t.Errorf("message %q does not name the ceiling", e.Message)
	}
}

// After a call that is answered with an errno the program continues. A call of the kill set ends
// the run and is reported with its name and rule, also from a thread or a child.
func TestDeniedAndAnsweredCalls(t *testing.T) {
	a := harness.StartAgent(t)
	answered := harness.CompileC(t, "answered", `#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) { long c = syscall(SYS_clone3, 0, 0); int e = errno; int s = socket(AF_INET, SOCK_STREAM, 0); printf("%ld %d %d\n", c, e == ENOSYS, s < 0); return 0; }`)

	res := a.MustRun(t, harness.Program(answered))
	harness.WantVerdict(t, res, api.OK)
	if string(res.Stdout) != "-1 1 1\n" || res.Denial != nil {
		t.Errorf("stdout %q, denial %+v", res.Stdout, res.Denial)
	}

	denied := harness.CompileC(t, "denied", `#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
static void *bad(void *x) { ptrace(PTRACE_TRACEME, 0, 0, 0); return 0; }
int main(int c, char **v) { puts("before"); fflush(stdout); pthread_t t;
  if (!strcmp(v[1], "main")) bad(0);
  else if (!strcmp(v[1], "thread")) { pthread_create(&t, 0, bad, 0); pthread_join(t, 0); }
  else if (!strcmp(v[1], "child")) { if (!fork()) { bad(0); _exit(0); } wait(0); }
  else if (!strcmp(v[1], "orphan")) { if (!fork()) { usleep(50000); bad(0); } sleep(20); }
  puts("after"); return 0; }`)

	harness.Both(t, func(t *testing.T, mode api.Mode) {
		for _, who := range []string{"main", "thread", "child", "orphan"} {
			r := harness.Program(denied, who)
			r.Mode = mode
			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.Denied)
			if d := res.Denial; d == nil || d.Syscall != "ptrace" || !strings.Contains(d.Rule, "default") || d.Why == "" || d.Allowed ||
				string(res.Stdout) != "before\n" {
				t.Errorf("%s: denial %+v, stdout %q", who, res.Denial, res.Stdout)
			}
		}
		harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
	})
}

// The caller can override HOME, PATH and the rest, and nothing of the agent's environment gets in.
func TestTheEnvironmentIsTheCallers(t *testing.T) {
	t.Setenv("BRIG_E2E_SECRET", "of the host")
	a := harness.StartAgent(t)
	r := harness.Sh("exec env")
	r.Env = map[string]string{"A": "b c", "HOME": "/tmp", "EMPTY": "", "ODD": "x=y\n", "LANG": "C"}
	res := a.MustRun(t, r)
	harness.WantVerdict(t, res, api.OK)
	got := string(res.Stdout)
	for _, want := range []string{"A=b c\n", "HOME=/tmp\n", "EMPTY=\n", "ODD=x=y\n\n", "LANG=C\n", "TMPDIR=/tmp\n"} {
		if !strings.Contains("\n"+got, "\n"+want) {
			t.Errorf("environment %q lacks %q", got, want)
		}
	}

	if strings.Contains(got, "SECRET") || strings.Contains(got, "SUDO") || strings.Contains(got, "BRIG") {
		t.Errorf("the host shows in %q", got)
	}
}

// The largest number of arguments and variables that a run may have still fits the message to the
// shell. One variable more is the caller's error, not brig's.
func TestTheMostArgumentsARunMayHave(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	r := harness.Sh("echo $#")
	for len(r.Argv) < api.MaxArgv {
		r.Argv = append(r.Argv, "x")
	}

	r.Env = map[string]string{}
	for i := range api.MaxEnv {
		r.Env[fmt.Sprint("E", i)] = "x"
	}

	res := a.MustRun(t, r)
	if harness.WantVerdict(t, res, api.OK); string(res.Stdout) != fmt.Sprintln(api.MaxArgv-4) {
		t.Errorf("the program saw %q arguments", res.Stdout)
	}

	r.Env["MORE"] = "x"
	a.Refused(t, r, api.CodeBadRequest)
}
