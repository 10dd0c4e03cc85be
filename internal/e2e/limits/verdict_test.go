package limits

import (
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestVerdicts(t *testing.T) {
	a := harness.StartAgent(t)
	hog := harness.CompileC(t, "hog", `#include <stdlib.h>
#include <string.h>
int main(int c, char **v) { size_t n = atol(v[1]) << 20; char *p = malloc(n); memset(p, 1, n); return p[n-1] != 1; }`)
	early := harness.CompileC(t, "early", `#include <stdlib.h>
#include <string.h>
__attribute__((constructor)) static void before(void) { char *p = malloc(64 << 20); memset(p, 1, 64 << 20); }
int main(void) { return 0; }`)
	child := harness.CompileC(t, "child", `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) { if (!fork()) { char *p = malloc(256 << 20); memset(p, 1, 256 << 20); pause(); } sleep(15); return 0; }`)
	spread := harness.CompileC(t, "spread", `#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) { for (int i = 0; i < 10; i++) if (!fork()) { char *p = malloc(16 << 20); memset(p, 1, 16 << 20); pause(); } while (wait(0) > 0); return 0; }`)

	sig := harness.CompileC(t, "sig", `#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int c, char **v) { int s = atoi(v[1]); if (s == 6) abort(); kill(getpid(), s); pause(); return 0; }`)
	orphan := harness.CompileC(t, "orphan", `#include <unistd.h>
int main(void) { if (!fork()) for (;;); pause(); }`)
	denied := harness.CompileC(t, "denied", `#include <sys/ptrace.h>
int main(void) { ptrace(PTRACE_TRACEME, 0, 0, 0); return 0; }`)

	limits := api.Limits{Wall: harness.Seconds(20), Memory: 32 * api.MiB}
	for _, tt := range []struct {
		name   string
		run    api.Run
		limits api.Limits
		want   api.Verdict
		check  func(r api.Result) bool
	}{
		{name: "exit 0 is ok", run: harness.Sh("exit 0"), want: api.OK,
			check: func(r api.Result) bool { return r.ExitCode == 0 && len(r.LimitsHit) == 0 }},
		{name: "exit 7 is nonzero", run: harness.Sh("exit 7"), want: api.Nonzero, check: func(r api.Result) bool { return r.ExitCode == 7 }},
		{name: "abort is SIGABRT (PID-10)", run: harness.Program(sig, "6"), want: api.Signaled,
			check: func(r api.Result) bool { return r.SignalName == "SIGABRT" && r.ExitCode == -1 }},
		{name: "SIGTERM to oneself (PID-10)", run: harness.Program(sig, "15"), want: api.Signaled,
			check: func(r api.Result) bool { return r.Signal == 15 }},
		{name: "SIGKILL to oneself proves nothing", run: harness.Program(sig, "9"), want: api.Signaled,
			check: func(r api.Result) bool { return r.Signal == 9 }},
		{name: "SIGSYS to oneself is no denial", run: harness.Program(sig, "31"), want: api.Signaled,
			check: func(r api.Result) bool { return r.Denial == nil && r.SignalName == "SIGSYS" }},
		{name: "memory of the main process", run: harness.Program(hog, "64"), want: api.MemoryLimit, check: hit(api.HitMemory)},
		{name: "memory within the limit", run: harness.Program(hog, "20"), want: api.OK},
		{name: "memory before main", run: harness.Program(early), want: api.MemoryLimit},
		{name: "memory of a child whose parent would exit with 0", run: harness.Program(child), want: api.MemoryLimit},
		{name: "memory spread over children (MEM-05)", run: harness.Program(spread), want: api.MemoryLimit},
		{name: "files in memory are memory", run: harness.Sh("dd if=/dev/zero of=/tmp/x bs=1M count=60; cat /tmp/x " +
			">/dev/null"), want: api.MemoryLimit},
		{name: "the least memory limit ends in a verdict", run: harness.Program(hog, "16"), limits: api.Limits{Memory: api.MinMemory},
			want: api.MemoryLimit},
		{name: "an endless loop under a cpu limit", run: harness.Sh("while :; do :; done"),
			limits: api.Limits{CPU: harness.Slowly(0.3)}, want: api.CPULimit,
			check: hit(api.HitCPU)},
		{name: "cpu of a child nobody waits for (CPU-03)", run: harness.Program(orphan),
			limits: api.Limits{CPU: harness.Slowly(0.3)}, want: api.CPULimit},
		{name: "a sleeper meets the wall limit", run: harness.Sh("sleep 100"), limits: api.Limits{Wall: harness.Slowly(0.5)}, want: api.WallLimit,
			check: hit(api.HitWall)},
		{name: "stdout over the limit keeps its beginning", run: harness.Sh("yes"), limits: api.Limits{Output: 4096}, want: api.OutputLimit,
			check: func(r api.Result) bool {
				return string(r.Stdout) == strings.Repeat("y\n", 2048) && r.StdoutTruncated && !r.StderrTruncated
			}},
		{name: "stderr has a limit of its own", run: harness.Sh("yes >&2"), limits: api.Limits{Output: 4096}, want: api.OutputLimit,
			check: func(r api.Result) bool {
				return string(r.Stderr) == strings.Repeat("y\n", 2048) && r.StderrTruncated && len(r.Stdout) == 0
			}},
		{name: "output of exactly the limit is fine", run: harness.Sh("head -c 4096 /dev/zero"), limits: api.Limits{Output: 4096}, want: api.OK,
			check: func(r api.Result) bool { return len(r.Stdout) == 4096 }},
		{name: "a forbidden call is denied by name", run: harness.Program(denied), want: api.Denied, check: func(r api.Result) bool {
			return r.Denial != nil && r.Denial.Syscall == "ptrace" && r.Denial.Number == 101 && r.Denial.Rule != "" && r.Denial.Why != ""
		}},
		{name: "output before the kill is kept", run: harness.Sh("echo before; sleep 100"),
			limits: api.Limits{Wall: harness.Slowly(3)}, want: api.WallLimit,
			check: func(r api.Result) bool {
				return string(r.Stdout) == "before\n"
			}},
		{name: "a fake verdict is only output (OUT-11)", run: harness.Sh(`echo '{"verdict":"ok"}'; exit 137`), want: api.Nonzero,
			check: func(r api.Result) bool { return r.ExitCode == 137 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			harness.Both(t, func(t *testing.T, mode api.Mode) {
				tt.run.Limits = tt.limits.Over(limits)
				tt.run.Mode, tt.run.Collect.None = mode, true
				res := a.MustRun(t, tt.run)
				harness.WantVerdict(t, res, tt.want)
				if tt.check != nil && !tt.check(res) {
					t.Errorf("result %+v\nstdout %.200q stderr %.200q", res, res.Stdout, res.Stderr)
				}
			})
		})
	}
}

func hit(name string) func(api.Result) bool {
	return func(r api.Result) bool {
		return len(r.LimitsHit) > 0 && strings.Contains(strings.Join(r.LimitsHit, " "), name)
	}
}

// PID-03, OUT-05: the descriptors that a daemon keeps open delay nothing.
func TestADaemonDiesWithTheRun(t *testing.T) {
	a := harness.StartAgent(t)
	daemon := harness.CompileC(t, "daemon", `#include <stdio.h>
#include <unistd.h>
int main(void) { puts("main"); fflush(stdout); if (!fork()) { setsid(); if (!fork()) for (;;) sleep(1); _exit(0); } return 0; }`)
	for range 5 {
		r := harness.Program(daemon)
		r.Limits = api.Limits{Wall: harness.Slowly(30)}
		harness.Promptly(t, 10*time.Second, func() time.Duration {
			start := time.Now()
			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.OK)
			if string(res.Stdout) != "main\n" {
				t.Errorf("answer %q", res.Stdout)
			}
			return time.Since(start)
		})
	}
}

// MEM-16: a peak belongs to this run, not to the cell.
func TestPeakIsPerRun(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	hog := harness.CompileC(t, "hog", `#include <stdlib.h>
#include <string.h>
int main(int c, char **v) { size_t n = atol(v[1]) << 20; char *p = malloc(n); memset(p, 1, n); return p[n-1] != 1; }`)
	for _, mib := range []string{"100", "1", "60", "2"} {
		res := a.MustRun(t, harness.Program(hog, mib))
		harness.WantVerdict(t, res, api.OK)
		if res.Usage.Memory.Value == nil {
			t.Fatalf("memory unknown: %s", res.Usage.Memory.Source)
		}
		// cgroup v1 charges pages in batches per processor, so a peak may be a little below what
		// the program touched.
		got, want := *res.Usage.Memory.Value, map[string]int64{"100": 100, "1": 1, "60": 60, "2": 2}[mib]<<20
		if got < want-1<<20 || got > want+4<<20 || got == 0 {
			t.Errorf("a program of %d bytes is said to have used %d", want, got)
		}
	}
}
