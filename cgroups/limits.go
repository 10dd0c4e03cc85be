package cgroups

import (
	"errors"
	"math"
	"strconv"
)

var errNoKey = errors.New("not in the file")

// Limits bound one leaf. A zero field means no limit of the leaf's own; the
// groups above still bound it. SwapBytes is the exception: zero means no swap.
type Limits struct {
	MemoryBytes int64
	SwapBytes   int64   // beyond MemoryBytes; only together with it
	CPUs        float64 // number of processors, as quota over a period of 100 ms
	Weight      int64   // cpu share on version 1's scale, where 1024 is the default
	Pids        int64   // processes and threads
	Cpuset      string  // such as "0-1,3"; empty means what the cell may use
}

// A Write is one value for one kernel file.
type Write struct {
	File  string
	Value string
}

// A Layout is what Plan must know of the kernel.
type Layout struct {
	Unified bool   // cgroup2 controllers
	Swap    bool   // swap is accounted: memory.swap.max or memory.memsw.* exist
	Cpus    string // the cell's own cpuset.cpus, which version 1 requires explicitly
}

const (
	period        = 100_000 // microseconds
	defaultWeight = 1024    // the kernel's, on version 1's scale
)

// Plan lists the writes that take a leaf from old to new, in the order that the kernel
// requires, without values that stay the same. It reads nothing and writes nothing.
func Plan(at Layout, old, new Limits) []Write {
	if old == new {
		return nil
	}
	var plan []Write
	set := func(file, from, to string) {
		if from != to {
			plan = append(plan, Write{file, to})
		}
	}
	if at.Unified {
		if at.Swap {
			set("memory.swap.max", decimal(old.SwapBytes), decimal(new.SwapBytes))
		}
		set("memory.max", limit(old.MemoryBytes, "max"), limit(new.MemoryBytes, "max"))
		set("cpu.max", quota(old.CPUs, "max")+" 100000", quota(new.CPUs, "max")+" 100000")
		set("cpu.weight", decimal(toWeight(old.Weight)), decimal(toWeight(new.Weight)))
		set("cpuset.cpus", old.Cpuset, new.Cpuset)
	} else {
		plan = memoryV1(plan, at, old, new)
		set("cpu.cfs_quota_us", quota(old.CPUs, "-1"), quota(new.CPUs, "-1"))
		set("cpu.shares", decimal(or(old.Weight, defaultWeight)), decimal(or(new.Weight, defaultWeight)))
		set("cpuset.cpus", or(old.Cpuset, at.Cpus), or(new.Cpuset, at.Cpus))
	}
	set("pids.max", limit(old.Pids, "max"), limit(new.Pids, "max"))
	return plan
}

// memoryV1 orders the two limits: the kernel always refuses a memory limit above the
// memory+swap limit, with EINVAL (memory.rst for version 1, "memsw").
func memoryV1(plan []Write, at Layout, old, new Limits) []Write {
	var mem, memsw []Write
	if from, to := swappiness(old), swappiness(new); from != to {
		plan = append(plan, Write{"memory.swappiness", to})
	}
	if old.MemoryBytes != new.MemoryBytes {
		mem = []Write{{"memory.limit_in_bytes", limit(new.MemoryBytes, "-1")}}
	}
	if !at.Swap {
		return append(plan, mem...)
	}
	from, to := withSwap(old), withSwap(new)
	if from != to {
		memsw = []Write{{"memory.memsw.limit_in_bytes", limit(to, "-1")}}
	}
	if to == 0 || (from != 0 && to >= from) {
		return append(append(plan, memsw...), mem...)
	}
	return append(append(plan, mem...), memsw...)
}

// slack is how far the memory+swap limit exceeds the sum of the two: the largest single
// charge, a huge page. Without it the kernel hits the memory+swap limit first
// (try_charge_memcg charges that one first), and newer kernels count failures of the
// memory counter only (page_counter track_failcnt; memory.memsw.failcnt seen to stay
// 0 on 6.18): a run killed at its limit would leave no trace of it. The run cannot swap
// into the slack: memory.swappiness=0 keeps a group at its limit from swapping.
const slack = 2 << 20

// swappiness is the memory.swappiness that keeps a run without swap from swapping at its
// own limit on version 1.
func swappiness(l Limits) string {
	if l.SwapBytes == 0 {
		return "0"
	}
	return "60" // the kernel's default
}

// withSwap is the limit on memory and swap together; zero means no limit.
func withSwap(l Limits) int64 {
	switch {
	case l.MemoryBytes == 0:
		return 0
	case l.SwapBytes > math.MaxInt64-slack || l.MemoryBytes > math.MaxInt64-slack-l.SwapBytes:
		return math.MaxInt64
	}
	return l.MemoryBytes + l.SwapBytes + slack
}

// quota is the processor time per period. The kernel's minimum is one millisecond.
func quota(cpus float64, none string) string {
	if cpus <= 0 {
		return none
	}
	return decimal(max(1000, int64(math.Round(cpus*period))))
}

// toWeight converts version 1 shares to cpu.weight. The scale is linear, so two runs
// keep their ratio; 1024, the version 1 default, becomes 100, the version 2 default.
func toWeight(shares int64) int64 {
	return min(max((or(shares, defaultWeight)*100+defaultWeight/2)/defaultWeight, 1), 10_000)
}

func limit(n int64, none string) string {
	if n == 0 {
		return none
	}
	return decimal(n)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func or[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}
