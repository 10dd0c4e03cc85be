package runtime

import (
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestSlotsHaveSeparateCores(t *testing.T) {
	for _, tt := range []struct {
		cores []int
		slots int
		want  [][]int
	}{
		{[]int{0}, 1, [][]int{{0}}},
		{[]int{0, 1}, 2, [][]int{{0}, {1}}},
		{[]int{0, 2, 4, 6}, 2, [][]int{{0, 2}, {4, 6}}},
		{[]int{0, 1, 2, 3, 4}, 2, [][]int{{0, 1}, {2, 3}}},
		{[]int{3, 5}, 3, [][]int{{3}, {5}, {3}}},
	} {
		for i, want := range tt.want {
			if got := slotCores(tt.cores, i, tt.slots); !slices.Equal(got, want) {
				t.Errorf("slot %d of %d on %v has %v; want %v", i, tt.slots, tt.cores, got, want)
			}
		}
	}
}

func TestProcessorsOfARun(t *testing.T) {
	one := &slot{own: []int{2}, cpus: "2", all: 4}
	two := &slot{own: []int{2, 3}, cpus: "2", all: 4}
	whole := &slot{own: []int{0, 1}, cpus: "0", all: 2}
	for _, tt := range []struct {
		slot     *slot
		cpus     float64
		want     string
		parallel float64
	}{
		{one, 1, "2", 1},
		{one, 0.5, "2", 0.5},
		{one, 2, "", 2}, // the operator's ceiling is above what a slot has
		{two, 1, "2", 1},
		{two, 1.5, "2,3", 1.5},
		{two, 2, "2,3", 2},
		{two, 3, "", 3},
		{whole, 2, "", 2},
	} {
		l := api.Limits{CPUs: tt.cpus}
		if got := tt.slot.cpusetFor(l); got != tt.want {
			t.Errorf("%v cpus in a slot of %v: %q; want %q", tt.cpus, tt.slot.own, got, tt.want)
		}
		if got := tt.slot.parallel(l); got != tt.parallel {
			t.Errorf("%v cpus in a slot of %v: at most %v at a time; want %v", tt.cpus, tt.slot.own, got, tt.parallel)
		}
	}
}

// However many sessions there may be, the processes that they leave running have half a run's
// weight together, as far as the kernel's minimum weight permits.
func TestLeftoverWeight(t *testing.T) {
	for _, tt := range []struct {
		sessions int
		want     int64
	}{{0, 64}, {1, 64}, {8, 64}, {16, 32}, {256, 2}, {1024, 2}} {
		if got := leftoverWeight(tt.sessions); got != tt.want {
			t.Errorf("of %d sessions: %d; want %d", tt.sessions, got, tt.want)
		}
	}
}
