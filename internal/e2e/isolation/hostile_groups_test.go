package isolation

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// RES-09: the cpu time, memory and refusals of a run are not counted for another.
func TestHostileUsageIsPerRun(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	glutton := harness.CompileC(t, "glutton", `#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(int c, char **v) { size_t n = (size_t)atol(v[1]) << 20; char *p = malloc(n); memset(p, 1, n);
  for (int i = 0; i < 40; i++) if (!fork()) pause();
  while (clock() < CLOCKS_PER_SEC / 2); return p[n - 1] != 1; }`)

	modest := harness.CompileC(t, "modest", "int main(void) { return 0; }")
	for _, tt := range []struct {
		mib, memory string
		verdict     api.Verdict
	}{{"40", "64M", api.OK}, {"200", "64M", api.MemoryLimit}} {
		r := harness.Program(glutton, tt.mib)
		r.Limits = api.Limits{Memory: 64 * api.MiB, Pids: 20, Wall: harness.Seconds(20), CPU: harness.Seconds(20)}
		before := a.MustRun(t, r)
		harness.WantVerdict(t, before, tt.verdict)
		r = harness.Program(modest)
		r.Limits = harness.HostileLimits()
		after := a.MustRun(t, r)
		harness.WantVerdict(t, after, api.OK)
		if len(after.LimitsHit) != 0 {
			t.Errorf("limits hit by a run that did nothing: %v", after.LimitsHit)
		}

		value := func(f api.Measurement) int64 {
			if f.Value == nil {
				return 0
			}
			return *f.Value
		}

		for name, f := range map[string][2]api.Measurement{"cpu": {before.Usage.CPU, after.Usage.CPU},
			"memory": {before.Usage.Memory, after.Usage.Memory}} {
			had, has := value(f[0]), value(f[1])
			if tt.verdict == api.OK && had < map[string]int64{"cpu": 4e8, "memory": 38 << 20}[name] {
				t.Errorf("%s of the run before is %d: the test proves nothing", name, had)
			}
			if has > map[string]int64{"cpu": int64(harness.Slow(2e8)), "memory": 8 << 20}[name] {
				t.Errorf("%s of a run that did nothing is %d, after one of %d", name, has, had)
			}
		}

		if n := value(before.Usage.ForksRefused); tt.verdict == api.OK && n == 0 {
			t.Error("no fork of the run before was refused: the test proves nothing")
		}
		if n := value(before.Usage.OOMKills); tt.verdict == api.MemoryLimit && n == 0 {
			t.Error("nothing of the run before was killed for memory: the test proves nothing")
		}
		if n, m := value(after.Usage.ForksRefused), value(after.Usage.OOMKills); n != 0 || m != 0 || value(after.Usage.Pids) > 2 {
			t.Errorf("a run that did nothing: %d forks refused, %d killed for memory, %d processes", n, m, value(after.Usage.Pids))
		}
	}
}

// chargedMemory is the sum of what is charged to all cells of the agent.
func chargedMemory(t testing.TB, a *harness.Agent) int64 {
	t.Helper()
	var sum int64
	found := false
	for _, file := range []string{"memory.usage_in_bytes", "memory.current"} {
		for _, text := range a.ReadGroupFiles(t, "cell-*/"+file) {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum, found = sum+n, true
		}
	}

	if !found {
		t.Fatal("no cell has a charge to read")
	}
	return sum
}

// RES-12: pages of in-memory files that a run leaves are charged to no group after its end, and
// count against no other run's limit.
func TestHostileMemoryChargeGoesWithTheRun(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	file, name := harness.HoldProgram(t, "charged")
	fill := "for d in /tmp /dev/shm /box; do head -c 10000000 /dev/zero > $d/RESIDUE & done; wait; exec " +
		"3</tmp/RESIDUE; sleep 60 >/dev/null & rm /tmp/RESIDUE"
	run := func(args ...string) api.Run {
		r := api.Run{Image: "tiny", Files: []api.File{file}, Argv: append([]string{name}, args...), Limits: harness.HostileLimits()}
		r.Limits.Wall, r.Collect.None = harness.Seconds(20), true
		return r
	}

	harness.WantVerdict(t, a.MustRun(t, run()), api.OK)
	time.Sleep(harness.Slow(200 * time.Millisecond)) // the keeper cleans up after a run
	baseline := chargedMemory(t, a)
	for range 3 {
		s := a.StartHeldRun(t, run(fill))
		if n := chargedMemory(t, a); n < baseline+25e6 {
			t.Errorf("%d bytes are charged while a run holds 30 MB, %d before: the test proves nothing", n, baseline)
		}

		s.Release()
		r := run(fill) // as much again fits at once
		r.Limits.Memory = 40 * api.MiB
		harness.WantVerdict(t, a.MustRun(t, r), api.OK)
		for deadline := harness.Patience(); ; time.Sleep(20 * time.Millisecond) {
			n := chargedMemory(t, a)
			if n <= baseline+1<<20 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d bytes are still charged, %d before", n, baseline)
			}
		}
	}
}

// RES-13: a run finds every knob of its groups and of its process as the first run of the cell
// found them, whatever was set for the runs in between and however those ended.
func TestHostileKnobsAreUnchanged(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	file, name := harness.HoldProgram(t, "turned")
	run := func(l api.Limits) api.Run {
		r := api.Run{Image: "tiny", Files: []api.File{file}, Argv: []string{name},
			Limits: l.Over(api.Limits{Wall: harness.Seconds(20), Memory: 64 * api.MiB})}
		r.Collect.None = true
		return r
	}

	look := func(l api.Limits) map[string]string {
		s := a.StartHeldRun(t, run(l))
		defer s.Release()
		return knobsOf(t, a, s.Pid)
	}

	golden := look(api.Limits{})
	if len(golden) < 10 {
		t.Fatalf("only %d knobs are known: %v", len(golden), golden)
	}

	odd := api.Limits{Memory: 32 * api.MiB, Pids: 7, CPUs: 0.3, Weight: 200, OpenFiles: 20, Stack: api.MiB}
	if odd := look(odd); maps.Equal(odd, golden) {
		t.Error("a run of other limits has the same knobs: the test proves nothing")
	}

	for _, tt := range []struct {
		script string
		want   api.Verdict
	}{
		{"trap '' TERM; ulimit -n 5; umask 0; (kill -STOP $PPID) & kill -STOP $$", api.WallLimit},
		{"i=0; while [ $i -lt 50 ]; do sleep 9 & i=$((i+1)); done; kill -STOP -1", api.WallLimit},
		{"head -c 60000000 /dev/zero > /tmp/x; cat /tmp/x", api.MemoryLimit},
		{"while :; do :; done", api.CPULimit},
	} {
		r := harness.Sh(tt.script)
		r.Limits = odd
		r.Limits.Wall = harness.Seconds(20)
		switch tt.want {
		case api.WallLimit:
			r.Limits.Wall = harness.Slowly(0.5)
		case api.CPULimit:
			r.Limits.CPU = harness.Slowly(0.05)
		}

		if got := a.MustRun(t, r).Verdict; got != tt.want && got != api.Nonzero {
			t.Errorf("%s: verdict %s; want %s", tt.script, got, tt.want)
		}

		now := look(api.Limits{})
		for _, k := range slices.Sorted(maps.Keys(golden)) {
			if now[k] != golden[k] {
				t.Errorf("after %q %s is %q; was %q", tt.script, k, now[k], golden[k])
			}
		}
	}
}

// knobsOf reads the settings of the groups that pid is in, of their parents up to the agent's, and of
// the process itself.
func knobsOf(t testing.TB, a *harness.Agent, pid int) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, g := range a.Groups(t) {
		leaves, err := filepath.Glob(filepath.Join(g, "cell-*", "r*", "cgroup.procs"))
		if err != nil {
			t.Fatal(err)
		}

		for _, procs := range leaves {
			list, err := os.ReadFile(procs)
			if err != nil || !slices.Contains(strings.Fields(string(list)), strconv.Itoa(pid)) {
				continue // removed meanwhile, or of the next run
			}
			leaf := filepath.Dir(procs)
			for level, dir := range map[string]string{"leaf": leaf, "cell": filepath.Dir(leaf), "all": g} {
				writableGroupFiles(t, a, filepath.Base(filepath.Dir(g))+" "+level, dir, out)
			}
		}
	}

	if len(out) == 0 {
		t.Fatalf("process %d is in no group of the agent", pid)
	}

	for _, f := range []string{"limits", "oom_score_adj"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, f))
		if err != nil {
			t.Fatal(err)
		}
		out[f] = string(text)
	}

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		if slices.Contains([]string{"Umask", "SigBlk", "SigIgn", "SigCgt", "Cpus_allowed_list", "Seccomp", "NoNewPrivs"}, key) {
			out[key] = strings.TrimSpace(value)
		}
	}

	return out
}

// writableGroupFiles adds the files of a group that can be written and contain no counter.
func writableGroupFiles(t testing.TB, a *harness.Agent, at, dir string, out map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o200 == 0 || info.Mode()&0o400 == 0 {
			continue
		}
		name := e.Name()
		counts := slices.ContainsFunc([]string{"procs", "tasks", "threads", "usage", "max_usage", "failcnt", "peak", "pressure", "stat"},
			func(part string) bool {
				return strings.Contains(name, part)
			})
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil && !counts {
			out[at+"/"+name] = string(text)
		}
	}
}
