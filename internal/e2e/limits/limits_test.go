package limits

import (
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestEveryLimitIsEnforcedAndReported(t *testing.T) {
	a := harness.StartAgent(t)
	forks := harness.CompileC(t, "forks", `#include <errno.h>
#include <stdio.h>
#include <unistd.h>
int main(void) { int n = 0; for (;;) { int p = fork(); if (p < 0) break; if (!p) { pause(); } n++; } printf("%d %d\n", n, errno == EAGAIN); return 0; }`)
	files := harness.CompileC(t, "files", `#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
int main(void) { int n = 3; while (open("/dev/null", O_RDONLY) >= 0) n++; struct rlimit s, c; getrlimit(RLIMIT_STACK, &s); getrlimit(RLIMIT_CORE, &c);
  printf("%d %d %lu %lu\n", n, errno == EMFILE, (unsigned long)s.rlim_cur, (unsigned long)c.rlim_max); return 0; }`)

	greedy := harness.CompileC(t, "greedy", `#include <fcntl.h>
#include <unistd.h>
int main(void) { while (open("/dev/null", O_RDONLY) >= 0); for (;;) pause(); }`)
	stack := harness.CompileC(t, "stack", `#include <string.h>
int deep(int n) { volatile char b[4096]; memset((void *)b, n, sizeof b); return n ? deep(n - 1) + b[7] : 0; }
int main(void) { return deep(4096) == 0; }`)
	for _, tt := range []struct {
		name    string
		run     api.Run
		limits  api.Limits
		verdict api.Verdict
		out     string
		hit     []string
	}{
		{"pids", harness.Program(forks), api.Limits{Pids: 7}, api.OK, "6 1\n", []string{"pids"}},
		{"open files, stack, no core", harness.Program(files), api.Limits{OpenFiles: 20, Stack: api.MiB}, api.OK, "20 1 1048576 1\n", nil},
		{"open files of a run that is stopped", harness.Program(greedy), api.Limits{OpenFiles: 20, Wall: harness.Slowly(3)}, api.WallLimit, "",
			[]string{"open_files", "wall"}},
		{"stack overflow is SIGSEGV (MEM-12)", harness.Program(stack), api.Limits{Stack: api.MiB}, api.Signaled, "", nil},
		{"the same stack fits by default", harness.Program(stack), api.Limits{}, api.OK, "", nil},
		{"scratch", harness.Sh("head -c 3000000 /dev/zero > /tmp/a; head -c 3000000 /dev/zero > /box/b; wc -c < /box/b"),
			api.Limits{Scratch: 4 * api.MiB}, api.OK, "", []string{"scratch"}},
		{"inodes", harness.Sh("i=0; while :> f$i; do i=$((i+1)); done 2>/dev/null; true"), api.Limits{Inodes: 50},
			api.Nonzero, "", []string{"inodes"}},
		{"memory", harness.Sh("head -c 100000000 /dev/zero | tail -c 90000000 > /dev/null"), api.Limits{Memory: 16 * api.MiB}, api.MemoryLimit,
			"", []string{"memory"}},
		{"cpu", harness.Sh("while :; do :; done"), api.Limits{CPU: harness.Slowly(0.2)}, api.CPULimit, "", []string{"cpu"}},
		{"wall", harness.Sh("sleep 9"), api.Limits{Wall: harness.Seconds(0.2), CPU: harness.Seconds(20)}, api.WallLimit, "", []string{"wall"}},
		{"output", harness.Sh("yes"), api.Limits{Output: 1000}, api.OutputLimit, "", []string{"output"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.run.Limits = tt.limits.Over(api.Limits{Wall: harness.Seconds(20)})
			tt.run.Collect.None = true
			res := a.MustRun(t, tt.run)
			if tt.verdict != api.Nonzero || res.Verdict != api.OK { // the shell's loop may end either way
				harness.WantVerdict(t, res, tt.verdict)
			}
			if tt.out != "" && string(res.Stdout) != tt.out {
				t.Errorf("stdout %q; want %q", res.Stdout, tt.out)
			}

			for _, h := range tt.hit {
				if !slices.Contains(res.LimitsHit, h) {
					t.Errorf("limits_hit %v; want %s among them", res.LimitsHit, h)
				}
			}

			for name, f := range map[string]api.Measurement{"cpu": res.Usage.CPU, "memory": res.Usage.Memory, "oom": res.Usage.OOMKills,
				"forks": res.Usage.ForksRefused} {
				if f.Value == nil || f.Source == "" {
					t.Errorf("usage %s: %+v; want a figure with its source", name, f)
				}
			}
		})
	}
}

// Half a processor is half a processor, measured by the program's own clocks: never more, and as
// much as a loaded machine gives a run with a whole one.
func TestCPUShare(t *testing.T) {
	a := harness.StartAgent(t)
	share := func(cpus float64) float64 {
		r := harness.Sh("while :; do :; done")
		r.Limits = api.Limits{Wall: harness.Seconds(2), CPUs: cpus}
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.WallLimit)
		return float64(*res.Usage.CPU.Value) / float64(res.Timing.Wall)
	}

	var seen [][2]float64
	for range 4 {
		half := share(0.5)
		if half > 0.6 {
			t.Errorf("cpus 0.5 gave a share of %.2f", half)
		}
		if half >= 0.35 {
			return
		}
		whole := share(1)
		if half >= 0.6*min(whole, 0.5) {
			return
		}
		seen = append(seen, [2]float64{half, whole})
	}

	t.Errorf("shares of half a processor next to a whole one: %.2f", seen)
}

func TestCeilingsRefuseByName(t *testing.T) {
	a := harness.StartAgent(t, "--max-wall", "5s", "--max-memory", "64M", "--max-pids", "10", "--max-cpus", "1",
		"--max-scratch", "8M", "--max-output",
		"1M", "--max-inodes", "500", "--max-address-space", "3G", "--max-data", "2G", "--max-file-size", "4M")
	for _, tt := range []struct {
		name   string
		limits api.Limits
	}{
		{"wall", api.Limits{Wall: harness.Seconds(6)}},
		{"memory", api.Limits{Memory: 65 * api.MiB}},
		{"swap", api.Limits{Swap: api.MiB}},
		{"pids", api.Limits{Pids: 11}},
		{"cpus", api.Limits{CPUs: 1.5}},
		{"scratch", api.Limits{Scratch: 9 * api.MiB}},
		{"output", api.Limits{Output: 2 * api.MiB}},
		{"inodes", api.Limits{Inodes: 501}},
		{"address_space", api.Limits{AddressSpace: 4 * api.GiB}},
		{"data", api.Limits{Data: 3 * api.GiB}},
		{"file_size", api.Limits{FileSize: 5 * api.MiB}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := harness.Sh("exit 0")
			r.Limits = tt.limits
			e := a.Refused(t, r, api.CodeAboveCeiling)
			if !strings.Contains(e.Message, tt.name) || !strings.Contains(e.Message, "ceiling") {
				t.Errorf("message %q names neither the limit nor the ceiling", e.Message)
			}
		})
	}

	res := a.MustRun(t, harness.Sh("ulimit -v; ulimit -d; ulimit -f")) // defaults above the ceiling are lowered to it
	if res.Limits.Memory != 64*api.MiB || res.Limits.Wall != harness.Seconds(5) || res.Limits.Pids != 10 ||
		res.Limits.FileSize != 4*api.MiB || string(res.Stdout) != "3145728\n2097152\n8192\n" {
		t.Errorf("limits in force %+v; the program has %q", res.Limits, res.Stdout)
	}
}

func TestBadInputIsRefusedAndChangesNothing(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--memory", "1500M")
	big := harness.Sh("exit 0")
	big.Limits.Memory = 1600 * api.MiB

	for _, tt := range []struct {
		name string
		run  api.Run
		code api.Code
	}{
		{"unknown image", api.Run{Image: "nosuch", Argv: []string{"x"}}, api.CodeNoImage},
		{"an image that is a path", api.Run{Image: "/etc", Argv: []string{"x"}}, api.CodeNoImage},
		{"unknown language", api.Run{Language: "cobol", Source: api.Bytes("x")}, api.CodeNoLanguage},
		{"unknown profile", api.Run{Image: "tiny", Argv: []string{"true"}, Profile: "lax"}, api.CodeNoProfile},
		{"no such program", api.Run{Image: "tiny", Argv: []string{"nosuch"}}, api.CodeNoProgram},
		{"no such path", api.Run{Image: "tiny", Argv: []string{"/no/such"}}, api.CodeNoProgram},
		{"a directory", api.Run{Image: "tiny", Argv: []string{"/bin"}}, api.CodeBadProgram},
		{"a processor we do not have", api.Run{Image: "tiny", Argv: []string{"true"}, Limits: api.Limits{Cpuset: "999"}}, api.CodeAboveCeiling},
		{"inputs that do not fit",
			api.Run{Image: "tiny", Argv: []string{"true"}, Files: []api.File{{Name: "x", Content: make(api.Bytes, 2<<20)}},
				Limits: api.Limits{Scratch: api.MiB}}, api.CodeBadFile},
		{"a name that leads out", api.Run{Image: "tiny", Argv: []string{"true"}, Files: []api.File{{Name: "../x"}}}, api.CodeBadFile},
		{"a network", api.Run{Image: "tiny", Argv: []string{"true"}, Network: "host"}, api.CodeBadRequest},
		{"more memory than the agent could ever reserve", big, api.CodeAboveCeiling},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := a.Refused(t, tt.run, tt.code)
			if strings.Contains(e.Message, "/var/tmp") || e.Message == "" || strings.Contains(e.Message, "\n") {
				t.Errorf("message %q: want one sentence without host paths", e.Message)
			}
			harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK) // and the agent still works
		})
	}

	t.Run("every slot busy", func(t *testing.T) {
		g := a.Guest(t, api.Strict)
		g.RunLine(t, "true")
		if e := a.Refused(t, harness.Sh("exit 0"), api.CodeBusy); !e.RetrySafe {
			t.Error("busy is safe to retry")
		}
		g.Leave()
	})
}
