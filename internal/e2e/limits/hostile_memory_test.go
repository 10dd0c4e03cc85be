package limits

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/doctor"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// MEM-14: swap does not extend the memory limit. The settings of a running run's group show it,
// whether this host has swap or not; the control is a run that was granted some, whose group has
// that limit.
func TestHostileSwapIsOff(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-swap", "64M")
	const memory = 32 << 20
	hog := harness.CompileC(t, fmt.Sprintf("hog-%d", os.Getpid()), `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int c, char **v) { size_t n = atol(v[1]) << 20; char *p = malloc(n), b; memset(p, 1, n); while (read(0, &b, 1) > 0); return p[n-1] != 1; }`)
	for _, swap := range []api.Size{0, 32 * api.MiB} {
		harness.Both(t, func(t *testing.T, mode api.Mode) {
			r := harness.Program(hog, "8")
			r.Mode, r.Limits = mode, api.Limits{Memory: memory, Swap: swap}
			got, res := readWhileRunning(t, a, r)
			harness.WantVerdict(t, res, api.OK)
			want := map[string]string{"memory.max": fmt.Sprint(memory), "memory.swap.max": fmt.Sprint(int64(swap))}
			if !got.Unified {
				// Two MiB more, which is not enough to swap: see cgroups.slack.
				want = map[string]string{"memory.limit_in_bytes": fmt.Sprint(memory), "memory.swappiness": "60",
					"memory.memsw.limit_in_bytes": fmt.Sprint(memory + 2<<20 + int64(swap))}
				if swap == 0 {
					want["memory.swappiness"] = "0"
				}
			}

			for file, value := range want {
				found, ok := got.files[file]
				if !ok && strings.Contains(file, "sw") && !swapOn(t) {
					continue // a kernel without swap accounting, on a host without swap
				}
				if found != value {
					t.Errorf("swap %s: %s of the run is %q; want %q", swap, file, found, value)
				}
			}

			for _, used := range []string{got.files["memory.swap.current"], got.stat("swap")} {
				if swap == 0 && used != "" && used != "0" {
					t.Errorf("%s bytes of the run are swapped out", used)
				}
			}
		})
	}

	harness.Both(t, func(t *testing.T, mode api.Mode) {
		r := harness.Program(hog, fmt.Sprint(memory>>20+64))
		r.Mode, r.Limits = mode, api.Limits{Memory: memory}
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.MemoryLimit)
		if !slices.Contains(res.LimitsHit, api.HitMemory) {
			t.Errorf("limits hit: %v", res.LimitsHit)
		}
	})
}

func swapOn(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/swaps")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n")) > 1 // the first line is a header
}

// groupFiles are the memory files of a run's group.
type groupFiles struct {
	harness.MemGroup
	files map[string]string
}

// stat is a field of memory.stat.
func (g groupFiles) stat(name string) string {
	for line := range strings.Lines(g.files["memory.stat"]) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == name {
			return value
		}
	}
	return ""
}

// readWhileRunning reads the memory files of a run that waits for its input to end.
func readWhileRunning(t *testing.T, a *harness.Agent, r api.Run) (groupFiles, api.Result) {
	t.Helper()
	in, hold := io.Pipe()
	done := make(chan api.Result, 1)
	go func() {
		res, err := a.RunStream(t.Context(), r, in, nil, nil)
		if err != nil {
			t.Errorf("run: %v", err)
		}
		done <- res
	}()

	defer hold.Close() // also when no process is found

	pid := harness.FindProcess(t, r.Argv[0])
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}

	g := groupFiles{MemGroup: harness.MemoryHierarchy(t).Home(string(table)), files: map[string]string{}}
	if !strings.Contains(g.Path, "brig-") {
		t.Errorf("the run is in group %s; want one of brig's", g.Path)
	}

	files, err := filepath.Glob(filepath.Join(g.Dir(), "memory.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", g.Dir(), err)
	}

	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil { // some are write-only
			g.files[filepath.Base(file)] = strings.TrimSpace(string(text))
		}
	}

	hold.Close()
	return g, <-done
}

// MEM-18: these tests give the same results under cgroup v1, hybrid and v2, where they all run.
// brig doctor, the agent and each result name the mode of this host, as the kernel reports it.
func TestHostileCgroupModeIsNamed(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	want := "v1"
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}

	switch {
	case harness.UnifiedHost(t):
		want = "v2"
	case bytes.Contains(mounts, []byte(" - cgroup2 ")):
		want = "hybrid"
	}

	if harness.MemoryHierarchy(t).Unified != (want == "v2") {
		t.Errorf("the memory controller is not where mode %s has it", want)
	}

	out, err := exec.CommandContext(t.Context(), harness.Binary(t, "brig"), "doctor", "--json", "--store",
		harness.DataDir(t), "--socket", a.Socket).Output()
	var report doctor.Report
	if jerr := json.Unmarshal(out, &report); jerr != nil {
		t.Fatalf("brig doctor: %v, %v", err, jerr)
	}

	i := slices.IndexFunc(report.Checks, func(c doctor.Check) bool { return c.Name == "cgroups" })
	if i < 0 || report.Checks[i].Found != "mode "+want {
		t.Errorf("brig doctor: %+v; want mode %s", report.Checks, want)
	}
	if h, err := a.Health(t.Context()); err != nil || h.CgroupMode != want {
		t.Errorf("the agent names mode %s, %v; want %s", h.CgroupMode, err, want)
	}

	c := harness.NewCanaries(t)
	for _, id := range []string{"MEM-01", "MEM-03", "MEM-05"} {
		e := harness.ExpectationOf(t, id)
		res := a.MustRun(t, e.Request(c))
		e.CheckResult(t, c, res)
		if res.Host.CgroupMode != want {
			t.Errorf("%s: the result names mode %s; want %s", id, res.Host.CgroupMode, want)
		}
	}

	t.Logf("mode %s", want)
}

// MEM-21: a limit is either refused as too small, or it holds: a program that fits in it ends well,
// and one that does not has hit it. It never causes a brig error: the setup of a run is charged to
// other groups. The control is the same program with enough memory.
func TestHostileTinyLimits(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	small := harness.CompileC(t, "small", `int main(void) { return 0; }`)
	hog := harness.CompileC(t, "hog", `#include <stdlib.h>
#include <string.h>
int main(void) { size_t n = 16 << 20; char *p = malloc(n); memset(p, 1, n); return p[n-1] != 1; }`)
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		for _, memory := range []api.Size{1, 2, 4, 8, 64} {
			for _, f := range []api.File{small, hog} {
				r := harness.Program(f)
				r.Mode, r.Limits = mode, api.Limits{Memory: memory * api.MiB, Wall: harness.Slowly(20)}
				if r.Limits.Memory < api.MinMemory {
					if e := a.Refused(t, r, api.CodeBadLimits); !strings.Contains(e.Message, "least is 4M") {
						t.Errorf("message %q does not name the least", e.Message)
					}
					continue
				}

				want := api.OK
				if f.Name == hog.Name && memory < 64 {
					want = api.MemoryLimit
				}

				res := a.MustRun(t, r)
				harness.WantVerdict(t, res, want)
				if f.Name == small.Name && memory*api.MiB == api.MinMemory && res.Usage.Memory.Value != nil {
					if floor := *res.Usage.Memory.Value; floor > int64(api.MinMemory)/2 {
						t.Errorf("a program that does nothing uses %d bytes of the least limit", floor)
					}
				}
			}
		}
	})
}
