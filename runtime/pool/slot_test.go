package pool

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestProcessorsOfARun(t *testing.T) {
	one := &Slot{own: []int{2}, cpus: "2", all: 4}
	two := &Slot{own: []int{2, 3}, cpus: "2", all: 4}
	whole := &Slot{own: []int{0, 1}, cpus: "0", all: 2}
	for _, tt := range []struct {
		slot     *Slot
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
		if got := tt.slot.CpusetFor(l); got != tt.want {
			t.Errorf("%v cpus in a slot of %v: %q; want %q", tt.cpus, tt.slot.own, got, tt.want)
		}
		if got := tt.slot.Parallel(l); got != tt.parallel {
			t.Errorf("%v cpus in a slot of %v: at most %v at a time; want %v", tt.cpus, tt.slot.own, got, tt.parallel)
		}
	}
}
