package e2e

import (
	"runtime"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A cpuset is what the program sees and gets; without one a run of one processor
// is pinned to its slot's own.
func TestCpusetIsTheProgramsWorld(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one processor cannot be divided") // no need could be met here
	}
	a := startAgent(t, "--slots", "1")
	allowed := func(l api.Limits) string {
		r := sh("grep Cpus_allowed_list /proc/self/status | cut -f2")
		r.Limits = l
		res := a.run(t, r)
		wantVerdict(t, res, api.OK)
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

// One processor is one processor, however many processes ask for it.
func TestProcessesShareTheProcessorsOfTheirRun(t *testing.T) {
	a := startAgent(t, "--slots", "1")
	r := sh("while :; do :; done & while :; do :; done & while :; do :; done")
	r.Limits = api.Limits{Wall: seconds(1.5), CPUs: 1, CPU: seconds(20), Cpuset: "0"}
	if runtime.NumCPU() > 1 {
		r.Limits.Cpuset = "0-1"
	}
	res := a.run(t, r)
	wantVerdict(t, res, api.WallLimit)
	if share := float64(*res.Usage.CPU.Value) / float64(res.Timing.Wall); share > 1.15 {
		t.Errorf("cpus 1 gave a share of %.2f to three processes", share)
	}
}

// Under contention for one processor the weight decides.
func TestWeightDecidesUnderContention(t *testing.T) {
	a := startAgent(t, "--slots", "2")
	type part struct {
		weight int64
		cpu    float64
	}
	parts := make(chan part, 2)
	for _, weight := range []int64{256, 2048} {
		go func() {
			r := sh("while :; do :; done")
			r.Limits = api.Limits{Wall: seconds(2), CPU: seconds(20), CPUs: 1, Cpuset: "0", Weight: weight}
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
	if ratio := heavy.cpu / light.cpu; ratio < 3 {
		t.Errorf("eight times the weight gave %.1f times the processor time", ratio)
	}
}
