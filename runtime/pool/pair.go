package pool

import (
	"context"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A Want is one program of a pair: its cell, whether the cell serves it alone, and its memory.
type Want struct {
	Cell   cell.Plan
	Once   bool
	Memory api.Size
}

// companionKeepers is the most kinds of cells that a slot keeps for interactors.
const companionKeepers = 2

// LeasePair leases a slot for a program and, on the same processors, its companion for the interactor:
// both or neither, so that no two callers wait for what the other has.
func (p *Pool) LeasePair(ctx context.Context, program, interactor Want) (l, companion *Lease, err error) {
	since := linux.Monotonic()
	program.Memory += program.Cell.CopySize()
	interactor.Memory += interactor.Cell.CopySize()
	l, companion, surplus, err := p.admitPair(program, interactor)
	if err != nil {
		return nil, nil, err
	}
	for _, k := range surplus {
		k.Close()
	}
	if err := companion.take(ctx, since); err != nil {
		p.Release(l)
		return nil, nil, err
	}
	if err := l.take(ctx, since); err != nil {
		companion.GiveBack(false)
		return nil, nil, err
	}
	return l, companion, nil
}

// mostKeepers is how many cells a slot may keep: those of its companion count, too. p.mu is held.
func (p *Pool) mostKeepers(s *slotState) int {
	if s.companion == nil {
		return p.capacity.Keepers
	}
	return max(1, p.capacity.Keepers-len(s.companion.keepers))
}

func (p *Pool) admitPair(program, interactor Want) (l, companion *Lease, surplus []*keeper, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.capacity.Keepers < companionKeepers || p.capacity.SingleLeaf {
		return nil, nil, nil, api.Refuse(api.CodeUnsupported, "an interactor needs a second cell in its slot, and the limit on open files allows the agent too few: use fewer slots, or raise the limit (ulimit -n, LimitNOFILE=)")
	}
	memory := program.Memory + interactor.Memory
	if err := p.checkMemory(memory, "the memory of the program and the interactor together"); err != nil {
		return nil, nil, nil, err
	}
	free := slices.DeleteFunc(slices.Clone(p.slots), func(s *slotState) bool { return s.companion != nil && s.companion.leased })
	s := choose(free, program.Cell.Key, program.Once)
	if s == nil {
		return nil, nil, nil, api.Fail(api.CodeBusy, "all %d slots are busy: send the run again", len(p.slots))
	}
	if s.companion == nil {
		slot, err := NewSlot(len(p.slots)+s.slot.index, s.slot.own, s.slot.all)
		if err != nil {
			return nil, nil, nil, err
		}
		s.companion = &slotState{slot: slot, keepers: map[plan.CellKey]*keeper{}}
		p.companions = append(p.companions, s.companion)
	}
	most := min(companionKeepers, p.capacity.Keepers/2)
	companion, other := p.leaseKeeper(s.companion, interactor.Cell, interactor.Once, most)
	l, one := p.leaseKeeper(s, program.Cell, program.Once, p.mostKeepers(s))
	l.memory, p.reserved = memory, p.reserved+memory
	for _, k := range []*keeper{one, other} {
		if k != nil {
			surplus = append(surplus, k)
		}
	}
	for len(s.keepers) > p.mostKeepers(s) { // the newest is the one just leased
		surplus = append(surplus, s.removeOldest())
	}
	return l, companion, surplus, nil
}
