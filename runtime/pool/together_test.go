package pool

import (
	"fmt"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
)

func cellKey(i int) plan.CellKey { return plan.CellKey{Policy: fmt.Sprint(i)} }

// kept is a slot state with so many kept cells, the newest last.
func kept(n int, leased bool) *slotState {
	s := &slotState{leased: leased, keepers: map[plan.CellKey]*keeper{}}
	for i := range n {
		k := &keeper{}
		k.lastLease.Store(int64(i))
		s.keepers[cellKey(i)] = k
	}
	return s
}

// A slot and its companions keep no more cells together than a slot may, whatever ran there before. Those of
// companions that nothing uses go first, and no cell that was just leased goes.
func TestCompanionsShareTheCellsOfASlot(t *testing.T) {
	for _, tt := range []struct {
		name       string
		slot       int
		companions []*slotState
		want       []int // of the slot, then of its companions
	}{
		{"few", 3, []*slotState{kept(2, true)}, []int{3, 2}},
		{"an interactor next to many", 8, []*slotState{kept(1, true)}, []int{7, 1}},
		{"seven processes", 1,
			[]*slotState{kept(1, true), kept(1, true), kept(1, true), kept(1, true), kept(1, true), kept(1, true), kept(1, true)},
			[]int{1, 1, 1, 1, 1, 1, 1, 1}},
		{"seven processes after many runs", 5,
			[]*slotState{kept(2, true), kept(1, true), kept(1, true), kept(1, true), kept(1, true), kept(1, true), kept(1, true)},
			[]int{1, 1, 1, 1, 1, 1, 1, 1}},
		{"an interactor after seven processes", 2,
			[]*slotState{kept(2, true), kept(1, false), kept(1, false), kept(1, false), kept(1, false), kept(1, false), kept(1, false)},
			[]int{2, 2, 1, 1, 1, 1, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Pool{capacity: Capacity{Keepers: MaxKeepers}}
			s := kept(tt.slot, true)
			s.companions = tt.companions
			before := p.keepers(s)
			surplus := p.trim(s)
			got := []int{len(s.keepers)}
			for _, c := range s.companions {
				got = append(got, len(c.keepers))
			}

			if fmt.Sprint(got) != fmt.Sprint(tt.want) || before-p.keepers(s) != len(surplus) || p.keepers(s) > MaxKeepers {
				t.Errorf("%v are left, %d go; want %v", got, len(surplus), tt.want)
			}
			if s.keepers[cellKey(tt.slot-1)] == nil {
				t.Error("the cell that was just leased goes")
			}
		})
	}
}

// More processes than there can be cells or ids for are refused, and nothing is leased.
func TestTooManyProcessesAreRefused(t *testing.T) {
	p := &Pool{slots: []*slotState{kept(0, false)}, memory: api.GiB, capacity: Capacity{Keepers: 4}}
	if _, _, _, err := p.admitTogether(Want{}, Want{}, 4); !api.HasCode(err, api.CodeUnsupported) {
		t.Errorf("4 processes with 4 cells: %v", err)
	}

	many := &Pool{slots: make([]*slotState, plan.MaxSlot/4), memory: api.GiB, capacity: Capacity{Keepers: MaxKeepers}}
	if _, _, _, err := many.admitTogether(Want{}, Want{}, 4); !api.HasCode(err, api.CodeUnsupported) {
		t.Errorf("4 processes in each of %d slots: %v", len(many.slots), err)
	}
	if _, _, _, err := p.admitTogether(Want{Memory: 400 * api.MiB}, Want{Memory: 300 * api.MiB}, 2); !api.HasCode(err, api.CodeAboveCeiling) {
		t.Errorf("two processes of 400M and a manager of 300M: %v", err)
	}
	if p.slots[0].leased || len(p.companions) > 0 || p.reserved != 0 {
		t.Errorf("%+v", p)
	}
}
