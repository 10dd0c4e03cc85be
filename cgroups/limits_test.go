package cgroups

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"testing"
)

const mib = 1 << 20

func TestPlan(t *testing.T) {
	v1 := Layout{Swap: true, Cpus: "0-3"}
	v2 := Layout{Unified: true, Swap: true}
	usual := Limits{MemoryBytes: 64 * mib, CPUs: 1, Weight: 1024, Pids: 100}
	for _, tt := range []struct {
		name     string
		at       Layout
		old, new Limits
		want     []Write
	}{
		{"nothing changed, nothing written", v2, usual, usual, nil},
		{"a new v2 leaf gets what differs from the kernel's defaults", v2, Limits{}, usual,
			[]Write{{"memory.max", "67108864"}, {"cpu.max", "100000 100000"}, {"pids.max", "100"}}},
		{"a new v1 leaf gets memory with swap off", v1, Limits{}, usual,
			[]Write{{"memory.limit_in_bytes", "67108864"}, {"memory.memsw.limit_in_bytes", "69206016"},
				{"cpu.cfs_quota_us", "100000"}, {"pids.max", "100"}}},
		{"v1 raises memory and swap together first", v1, Limits{MemoryBytes: 16 * mib}, Limits{MemoryBytes: 32 * mib},
			[]Write{{"memory.memsw.limit_in_bytes", "35651584"}, {"memory.limit_in_bytes", "33554432"}}},
		{"v1 lowers memory first", v1, Limits{MemoryBytes: 32 * mib}, Limits{MemoryBytes: 16 * mib},
			[]Write{{"memory.limit_in_bytes", "16777216"}, {"memory.memsw.limit_in_bytes", "18874368"}}},
		{"v1 lifts both to none", v1, Limits{MemoryBytes: 32 * mib}, Limits{},
			[]Write{{"memory.memsw.limit_in_bytes", "-1"}, {"memory.limit_in_bytes", "-1"}}},
		{"v1 without swap accounting has one memory limit", Layout{}, Limits{}, Limits{MemoryBytes: mib},
			[]Write{{"memory.limit_in_bytes", "1048576"}}},
		{"v1 gives swap on top of memory", v1, Limits{MemoryBytes: mib}, Limits{MemoryBytes: mib, SwapBytes: mib},
			[]Write{{"memory.swappiness", "60"}, {"memory.memsw.limit_in_bytes", "4194304"}}},
		{"v2 gives swap on its own", v2, Limits{MemoryBytes: mib}, Limits{MemoryBytes: mib, SwapBytes: mib},
			[]Write{{"memory.swap.max", "1048576"}}},
		{"v1 spells the cell's processors out again", v1, Limits{Cpuset: "1"}, Limits{},
			[]Write{{"cpuset.cpus", "0-3"}}},
		{"v2 empties cpuset.cpus to inherit", v2, Limits{Cpuset: "1"}, Limits{},
			[]Write{{"cpuset.cpus", ""}}},
		{"a sliver of a processor is the kernel's least quota", v2, Limits{}, Limits{CPUs: 0.0001},
			[]Write{{"cpu.max", "1000 100000"}}},
		{"the default weight is no write", v1, Limits{}, Limits{Weight: 1024}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Plan(tt.at, tt.old, tt.new); !slices.Equal(got, tt.want) {
				t.Errorf("Plan = %v; want %v", got, tt.want)
			}
		})
	}
}

func TestWeightKeepsRatios(t *testing.T) {
	for shares, want := range map[int64]int64{0: 100, 1024: 100, 2048: 200, 512: 50, 2: 1, 262144: 10_000} {
		if got := toWeight(shares); got != want {
			t.Errorf("toWeight(%d) = %d; want %d", shares, got, want)
		}
	}
}

// The kernel always refuses memory.limit_in_bytes above memory.memsw.limit_in_bytes, so
// memory must not exceed memory+swap after any single write of a plan.
func FuzzPlanKeepsMemoryBelowSwap(f *testing.F) {
	f.Add(int64(16*mib), int64(0), int64(32*mib), int64(0))
	f.Add(int64(0), int64(0), int64(mib), int64(mib))
	f.Add(int64(32*mib), int64(8*mib), int64(36*mib), int64(0))
	f.Fuzz(func(t *testing.T, m0, s0, m1, s1 int64) {
		if min(m0, s0, m1, s1) < 0 {
			t.Skip()
		}

		at := Layout{Swap: true}
		mem, memsw := int64(math.MaxInt64), int64(math.MaxInt64)
		steps := []Limits{{}, {MemoryBytes: m0, SwapBytes: s0}, {MemoryBytes: m1, SwapBytes: s1}}
		for i := 1; i < len(steps); i++ {
			for _, w := range Plan(at, steps[i-1], steps[i]) {
				n, err := strconv.ParseInt(w.Value, 10, 64)
				if err != nil {
					t.Fatalf("%v: %v", w, err)
				}
				if n < 0 {
					n = math.MaxInt64
				}

				switch w.File {
				case "memory.limit_in_bytes":
					mem = n
				case "memory.memsw.limit_in_bytes":
					memsw = n
				case "memory.swappiness":
				default:
					t.Fatalf("unexpected write %v", w)
				}

				if mem > memsw {
					t.Fatalf("%+v to %+v: memory %d above memory+swap %d", steps[i-1], steps[i], mem, memsw)
				}
			}
		}

		last := steps[2]
		if want := cmp.Or(last.MemoryBytes, math.MaxInt64); mem != want {
			t.Errorf("memory ends at %d; want %d", mem, want)
		}
		if want := cmp.Or(withSwap(last), math.MaxInt64); memsw != want {
			t.Errorf("memory+swap ends at %d; want %d", memsw, want)
		}
	})
}
