package pool

import (
	"testing"

	"github.com/brig-sandbox/brig/runtime/plan"
)

func TestChooseTakesTheReadiestSlot(t *testing.T) {
	key := plan.CellKey{ImageTree: plan.ImageTree{Image: "i"}}
	ready := func() *keeper { k := &keeper{}; k.available.Store(true); return k }
	with := func(k *keeper) map[plan.CellKey]*keeper { return map[plan.CellKey]*keeper{key: k} }
	for _, tt := range []struct {
		name  string
		slots []*slotState
		want  int
		once  bool
	}{
		{"none is free", []*slotState{{leased: true}, {leased: true}}, -1, false},
		{"a parked shell beats a cell being refilled", []*slotState{{keepers: with(&keeper{})}, {keepers: with(ready())}}, 1, false},
		{"a cell being refilled beats building one", []*slotState{{}, {keepers: with(&keeper{})}}, 1, false},
		{"but not where the cell serves once", []*slotState{{last: 1}, {keepers: with(&keeper{}), last: 2}}, 0, true},
		{"of ready ones the last used",
			[]*slotState{{keepers: with(ready()), last: 1}, {keepers: with(ready()), last: 3}, {keepers: with(ready()), last: 2}}, 1, false},
		{"of cells being refilled the longest idle",
			[]*slotState{{keepers: with(&keeper{}), last: 2}, {keepers: with(&keeper{}), last: 1}, {keepers: with(&keeper{}), last: 3}}, 1, false},
		{"of slots that were never used the first", []*slotState{{}, {}}, 0, false},
		{"of slots without the longest idle", []*slotState{{last: 2}, {last: 1}}, 1, false},
		{"a leased slot is nobody's", []*slotState{{keepers: with(ready()), leased: true}, {}}, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := choose(tt.slots, key, tt.once)
			if tt.want < 0 && got != nil || tt.want >= 0 && got != tt.slots[tt.want] {
				t.Errorf("chose %v; want slot %d", got, tt.want)
			}
		})
	}
}
