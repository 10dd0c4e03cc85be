package run

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// This file makes one result of those of several processes of a program.

// processes is the result of a program that ran as these processes, and the end that decides it: that of the
// process that failed first, or of the last one if none did. Their processor times together are the program's,
// and each has the memory to itself, as in the Contest Management System. Only their sum can be over the limit
// when all have ended: the supervisors end each one that is over it by itself.
func processes(ends []ending, at []*programEnd, limits api.Limits) (api.Result, *programEnd) {
	decides := 0
	for k := range ends {
		failed, fails := ends[k].res.Verdict != api.OK, ends[decides].res.Verdict != api.OK
		earlier := at[k].known() < at[decides].known()
		if failed && (!fails || earlier) || !failed && !fails && !earlier {
			decides = k
		}
	}

	res := ends[decides].res
	if len(ends) == 1 {
		return res, at[decides]
	}

	all := make([]api.Result, len(ends))
	for k, e := range ends {
		all[k] = e.res
	}

	u := &res.Usage
	for _, m := range []struct {
		of     func(*api.Usage) *api.Measurement
		join   func(a, b int64) int64
		source string
	}{
		{func(u *api.Usage) *api.Measurement { return &u.CPU }, sum, "sum of the processes"},
		{func(u *api.Usage) *api.Measurement { return &u.User }, sum, "sum of the processes"},
		{func(u *api.Usage) *api.Measurement { return &u.System }, sum, "sum of the processes"},
		{func(u *api.Usage) *api.Measurement { return &u.OOMKills }, sum, "sum of the processes"},
		{func(u *api.Usage) *api.Measurement { return &u.ForksRefused }, sum, "sum of the processes"},
		{func(u *api.Usage) *api.Measurement { return &u.Memory }, larger, "maximum of the processes"},
		{func(u *api.Usage) *api.Measurement { return &u.MaxRSS }, larger, "maximum of the processes"},
		{func(u *api.Usage) *api.Measurement { return &u.Pids }, larger, "maximum of the processes"},
	} {
		total := m.of(&all[0].Usage)
		for k := 1; k < len(all) && total.Value != nil; k++ {
			next := m.of(&all[k].Usage)
			if next.Value == nil {
				total = next
				break
			}
			joined := api.Known(m.join(*total.Value, *next.Value), m.source)
			total = &joined
		}
		*m.of(u) = *total
	}

	u.StdoutBytes, u.StderrBytes = 0, 0
	for _, one := range all {
		u.StdoutBytes, u.StderrBytes = u.StdoutBytes+one.Usage.StdoutBytes, u.StderrBytes+one.Usage.StderrBytes
		res.Timing.Wall = max(res.Timing.Wall, one.Timing.Wall)
	}

	if v := u.CPU.Value; res.Verdict == api.OK && v != nil && limits.CPU > 0 && api.Duration(*v) > limits.CPU {
		res.Verdict, res.LimitsHit = api.CPULimit, append(slices.Clone(res.LimitsHit), api.HitCPU)
	}
	return res, at[decides]
}

// known is when a program ended; after all others if it did not start.
func (e *programEnd) known() time.Duration { return cmp.Or(e.at, math.MaxInt64) }

func sum(a, b int64) int64    { return a + b }
func larger(a, b int64) int64 { return max(a, b) }

// sumOfUsage returns what each of n processes reports its usage to, so that report gets that of all. It is nil
// if report is.
func sumOfUsage(report func(api.LiveUsage), n int) func(k int) func(api.LiveUsage) {
	if report == nil || n == 1 {
		return func(int) func(api.LiveUsage) { return report }
	}

	var mu sync.Mutex
	last := make([]api.TestResult, n)
	return func(k int) func(api.LiveUsage) {
		return func(u api.LiveUsage) {
			mu.Lock()
			defer mu.Unlock()
			last[k].Result.Usage = api.Usage{CPU: u.CPU, Memory: u.Memory, StdoutBytes: u.StdoutBytes,
				StderrBytes: u.StderrBytes}
			all := api.SumUsage(last)
			u.CPU, u.Memory, u.StdoutBytes, u.StderrBytes = all.CPU, all.Memory, all.StdoutBytes, all.StderrBytes
			report(u)
		}
	}
}
