package grade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

// NoiseRuns is how often a jury submission from whose times a limit follows is run at least, so that their
// spread is known.
const NoiseRuns = 3

// maxNoise is the share by which the times of one program may differ if a limit follows from them.
const maxNoise = 0.1

// times are the processor times of each test in several runs of one program, in order, and the tests in
// theirs.
func times(runs []api.Result) (ids []string, of map[string][]int64) {
	of = map[string][]int64{}
	for _, run := range runs {
		for _, t := range run.Tests {
			if of[t.ID] == nil {
				ids = append(ids, t.ID)
				of[t.ID] = []int64{}
			}
			if cpu := t.Result.Usage.CPU.Value; cpu != nil {
				of[t.ID] = append(of[t.ID], *cpu)
			}
		}
	}

	for _, all := range of {
		slices.Sort(all)
	}
	return ids, of
}

// Median is the first of several runs of one program, with the median of all runs as the processor time of
// each test. There must be a run.
func Median(runs []api.Result) api.Result {
	_, of := times(runs)
	res := runs[0]
	res.Tests = slices.Clone(res.Tests)
	for i, t := range res.Tests {
		if all := of[t.ID]; len(all) > 0 && t.Result.Usage.CPU.Value != nil {
			median := all[len(all)/2]
			res.Tests[i].Result.Usage.CPU.Value = &median
		}
	}
	return res
}

// Unstable says which tests did not end in the same way in all runs of one program, under a limit on
// processor time, and how near their times are to it. It is empty if all did.
func Unstable(runs []api.Result, limit api.Duration) []string {
	ids, of := times(runs)
	words := map[string]map[string]int{}
	for _, run := range runs {
		for _, t := range run.Tests {
			if words[t.ID] == nil {
				words[t.ID] = map[string]int{}
			}
			words[t.ID][FormatWord(t, limit)]++
		}
	}

	var all []string
	for _, id := range ids {
		seen, total := []string{}, 0
		for _, word := range []string{"AC", "WA", "TLE", "RTE", "CE"} {
			if n := words[id][word]; n > 0 {
				seen = append(seen, fmt.Sprintf("%s in %d", word, n))
				total += n
			}
		}

		if missing := len(runs) - total; missing > 0 {
			seen = append(seen, fmt.Sprintf("not run in %d", missing))
		}
		if len(seen) == 1 {
			continue
		}

		text := fmt.Sprintf("test %s is %s of %d runs", id, strings.Join(seen, ", "), len(runs))
		if cpu := of[id]; len(cpu) > 0 {
			text += fmt.Sprintf(", with %s to %s of processor time", rounded(cpu[0]), rounded(cpu[len(cpu)-1]))
			if limit > 0 {
				text += fmt.Sprintf("; the limit is %s", limit)
			}
		}

		all = append(all, text)
	}

	return all
}

func rounded(ns int64) api.Duration { return api.Duration((ns + 5e5) / 1e6 * 1e6) }

// Noise is an error if the times of one program differ so much from run to run that a time limit that
// follows from them depends on chance: those of its slowest test by more than 10 %, and by so much that the
// limit would change by 10 %, too. Times of some milliseconds always differ, and decide nothing.
func Noise(path string, runs []api.Result, limit api.Duration, t problem.Timing) error {
	_, of := times(runs)
	slowest, id := []int64{0}, ""
	for name, all := range of {
		if len(all) > 0 && all[len(all)/2] > slowest[len(slowest)/2] {
			slowest, id = all, name
		}
	}

	median, spread := float64(slowest[len(slowest)/2]), float64(slowest[len(slowest)-1]-slowest[0])
	if spread <= maxNoise*median || spread*t.Accepted <= maxNoise*float64(limit) {
		return nil
	}

	return fmt.Errorf("this machine is too noisy to set a limit: test %s of %s took %s to %s in %d runs, which is "+
		"%.0f %%; stop what else runs on it, or set the limit in the package",
		id, path, rounded(slowest[0]), rounded(slowest[len(slowest)-1]), len(runs), 100*spread/median)
}
