package grade

import (
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

func runsOf(all ...[]api.TestResult) (runs []api.Result) {
	for _, tests := range all {
		runs = append(runs, api.Result{Tests: tests})
	}
	return runs
}

func TestRepeatedRuns(t *testing.T) {
	runs := runsOf(
		[]api.TestResult{ended("1", api.OK, api.Accepted, 10*ms), ended("2", api.OK, api.Accepted, 990*ms),
			ended("3", api.OK, api.Accepted, 5*ms)},
		[]api.TestResult{ended("1", api.OK, api.Accepted, 40*ms), ended("2", api.OK, api.Accepted, 1010*ms),
			ended("3", api.OK, api.WrongAnswer, 5*ms)},
		[]api.TestResult{ended("1", api.OK, api.Accepted, 20*ms), ended("2", api.OK, api.Accepted, 980*ms)},
	)
	if got, want := Unstable(runs, 1000*ms), []string{
		"test 2 is AC in 2, TLE in 1 of 3 runs, with 980ms to 1.01s of processor time; the limit is 1s",
		"test 3 is AC in 1, WA in 1, not run in 1 of 3 runs, with 5ms to 5ms of processor time; the limit is 1s",
	}; !slices.Equal(got, want) {
		t.Errorf("unstable: %q\nwant %q", got, want)
	}
	if got := Unstable(runs, 2000*ms); len(got) != 1 || !strings.HasPrefix(got[0], "test 3 ") {
		t.Errorf("with another limit: %q", got)
	}
	if got := Unstable(runs[:1], 1000*ms); got != nil {
		t.Errorf("one run: %q", got)
	}

	median := Median(runs)
	for i, want := range []api.Duration{20 * ms, 990 * ms, 5 * ms} {
		if got := *median.Tests[i].Result.Usage.CPU.Value; got != int64(want) {
			t.Errorf("the median of test %d is %v; want %v", i+1, api.Duration(got), want)
		}
	}

	if got := *runs[0].Tests[1].Result.Usage.CPU.Value; got != int64(990*ms) || *runs[1].Tests[0].Result.Usage.CPU.Value != int64(40*ms) {
		t.Errorf("the runs have changed: %v", got)
	}
}

// A limit must not follow from times that differ by more than 10 %, unless that changes it by less.
func TestNoiseOfTheMachine(t *testing.T) {
	timing := problem.Timing{Accepted: 2, TooSlow: 1.5, Resolution: 1000 * ms}
	runs := func(times ...api.Duration) []api.Result {
		var all [][]api.TestResult
		for _, one := range times {
			all = append(all, []api.TestResult{ended("fast", api.OK, "", 1*ms*api.Duration(len(all)+1)), ended("slow", api.OK, "", one)})
		}
		return runsOf(all...)
	}

	for _, tt := range []struct {
		name  string
		runs  []api.Result
		limit api.Duration
		noisy bool
	}{
		{"steady", runs(400*ms, 410*ms, 420*ms), 1000 * ms, false},
		{"noisy", runs(400*ms, 410*ms, 460*ms), 1000 * ms, true},
		{"noisy, but short", runs(20*ms, 30*ms, 60*ms), 1000 * ms, false},
		{"just not", runs(100*ms, 100*ms, 150*ms), 1000 * ms, false},
		{"one run", runs(400 * ms), 1000 * ms, false},
		{"no time", runsOf([]api.TestResult{}), 1000 * ms, false},
	} {
		err := Noise("accepted/a.py", tt.runs, tt.limit, timing)
		if (err != nil) != tt.noisy {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil && !strings.Contains(err.Error(),
			"too noisy to set a limit: test slow of accepted/a.py took 400ms to 460ms in 3 runs, which is 15 %") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}

	a, b := api.TimeLimit{Limit: 1000 * ms, Slowest: 250 * ms, By: "a", Fastest: 1500 * ms, FastestBy: "b"}.Margins()
	if a != 4 || b != 1.5 {
		t.Errorf("margins %v and %v", a, b)
	}
}
