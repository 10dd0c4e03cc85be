package neighbours

import (
	"runtime"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A program sees and gets its cpuset; without one a run of one processor is pinned to its slot's
// own.
func TestProgramSeesItsCpuset(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one processor cannot be divided") // the test cannot run here
	}

	a := harness.StartAgent(t, "--slots", "1")
	allowed := func(l api.Limits) string {
		r := harness.Sh("grep Cpus_allowed_list /proc/self/status | cut -f2")
		r.Limits = l
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		return strings.TrimSpace(string(res.Stdout))
	}

	for _, set := range []string{"0", "1", "0-1", "0"} {
		if got := allowed(api.Limits{Cpuset: set, CPUs: 1}); got != set {
			t.Errorf("cpuset %s: the program may use %s", set, got)
		}
	}

	if got := allowed(api.Limits{CPUs: 1}); strings.ContainsAny(got, "-,") {
		t.Errorf("a run of one processor may use %s; want its slot's own", got)
	}
	if got := allowed(api.Limits{CPUs: 2}); !strings.ContainsAny(got, "-,") {
		t.Errorf("a run of two processors may use %s alone", got)
	}
}

// brig's processes in a cell stay on the processor that its runs are pinned to, so that no run
// begins with a migration. That is not the program's limit, which may be more processors.
func TestCellKeepsToItsSlotsProcessor(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one processor cannot be divided") // the test cannot run here
	}

	a := harness.StartAgent(t, "--slots", "1")
	r := harness.Sh("grep Cpus_allowed_list /proc/self/status | cut -f2")
	r.Limits = api.Limits{CPUs: 1}
	res := a.MustRun(t, r)
	harness.WantVerdict(t, res, api.OK)
	want := strings.TrimSpace(string(res.Stdout))
	a.WaitIdle(t)
	keepers := a.CellProcesses(t, "cell-*")
	for _, k := range keepers {
		_, rest, _ := strings.Cut(k.Status, "\nCpus_allowed_list:\t")
		got, _, _ := strings.Cut(rest, "\n")
		if got != want {
			t.Errorf("process %d of the cell may use %s; want %s, as its runs", k.Pid, got, want)
		}
	}

	if len(keepers) == 0 {
		t.Error("no process of brig's found in the cell")
	}
}

// One processor is one processor, however many processes want it.
func TestProcessesShareTheProcessorsOfTheirRun(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	r := harness.Sh("while :; do :; done & while :; do :; done & while :; do :; done")
	r.Limits = api.Limits{Wall: harness.Seconds(1.5), CPUs: 1, CPU: harness.Seconds(20), Cpuset: "0"}
	if runtime.NumCPU() > 1 {
		r.Limits.Cpuset = "0-1"
	}
	res := a.MustRun(t, r)
	harness.WantVerdict(t, res, api.WallLimit)
	if share := float64(*res.Usage.CPU.Value) / float64(res.Timing.Wall); share > 1.15 {
		t.Errorf("cpus 1 gave a share of %.2f to three processes", share)
	}
}

// Under contention for one processor the weight decides.
func TestWeightDecidesUnderContention(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2", "--max-weight", "4096")
	type part struct {
		weight int64
		cpu    float64
	}

	ratio := 0.0
	for try := 0; try < 5 && ratio < 3; try++ { // on a busy machine one may begin long before the other
		parts := make(chan part, 2)
		for _, weight := range []int64{256, 2048} {
			go func() {
				r := harness.Sh("while :; do :; done")
				r.Limits = api.Limits{Wall: harness.Seconds(2), CPU: harness.Seconds(20), CPUs: 1, Cpuset: "0", Weight: weight}
				res, err := a.Run(t.Context(), r)
				if err != nil || res.Usage.CPU.Value == nil {
					t.Errorf("run: %v, %+v", err, res.Usage.CPU)
					parts <- part{weight, 0}
					return
				}
				parts <- part{weight, float64(*res.Usage.CPU.Value)}
			}()
		}

		light, heavy := <-parts, <-parts
		if light.weight > heavy.weight {
			light, heavy = heavy, light
		}
		ratio = heavy.cpu / light.cpu
	}

	if ratio < 3 {
		t.Errorf("eight times the weight gave %.1f times the processor time", ratio)
	}
}

// The wall clock of a run begins when its program does, even though the program occupies the
// processor that the shell would need to report it.
func TestWallTimeBeginsWithTheProgram(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	var wall, cpu int64
	for range 30 {
		res := a.MustRun(t, harness.Sh("i=0; while [ $i -lt 500 ]; do i=$((i+1)); done"))
		harness.WantVerdict(t, res, api.OK)
		wall += res.Timing.Wall
		cpu += *res.Usage.User.Value + *res.Usage.System.Value
	}
	if float64(wall) < 0.7*float64(cpu) { // some of the cpu time was used between clone and exec
		t.Errorf("30 runs of one process: %.2f ms of wall time in all, and %.2f ms of processor time", float64(wall)/1e6, float64(cpu)/1e6)
	}
}
