package pool

import (
	"context"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A Want is a program that is to run: its cell, whether the cell serves it alone, and its memory.
type Want struct {
	Cell   cell.Plan
	Once   bool
	Memory api.Size
}

// companionKeepers is the most kinds of cells that a slot keeps for interactors.
const companionKeepers = 2

// AcquireTogether waits for its turn and leases a slot for a program and, on the same processors, its
// companions for the interactor and for the further ones of so many processes of the program: all or none,
// so that no two callers wait for what the other has.
func (p *Pool) AcquireTogether(ctx context.Context, t Turn, program, interactor Want,
	processes int) (programs []*Lease, companion *Lease, err error) {
	since := linux.Monotonic()
	program.Memory += program.Cell.CopySize()
	interactor.Memory += interactor.Cell.CopySize()
	var surplus []*keeper
	size := api.Size(processes)*program.Memory + interactor.Memory
	err = p.await(ctx, &waiter{Turn: t, size: size, grant: func() (err error) {
		programs, companion, surplus, err = p.admitTogether(program, interactor, processes)
		return err
	}})
	if err != nil {
		return nil, nil, err
	}

	for _, k := range surplus {
		k.Close()
	}

	// The slot comes last: it is free again only after its companions.
	all := append([]*Lease{companion}, programs[1:]...)
	all = append(all, programs[0])
	for i, l := range all {
		if err := l.take(ctx, since); err != nil {
			for _, taken := range all[:i] {
				taken.GiveBack(false)
			}
			for _, waiting := range all[i+1:] {
				p.Release(waiting)
			}
			return nil, nil, err
		}
	}

	return programs, companion, nil
}

// maxKeepers is how many cells a slot may keep: those of its companions count, too. p.mu is held.
func (p *Pool) maxKeepers(s *slotState) int {
	maximum := p.capacity.Keepers
	for _, c := range s.companions {
		maximum -= len(c.keepers)
	}
	return max(1, maximum)
}

// admitTogether is admit for several programs. p.mu is held.
func (p *Pool) admitTogether(program, interactor Want,
	processes int) (programs []*Lease, companion *Lease, surplus []*keeper, err error) {
	if p.capacity.Keepers < 1+processes || p.capacity.SingleLeaf {
		return nil, nil, nil, api.Refuse(api.CodeUnsupported,
			"an interactor and %d processes of the program need %d cells in one slot, and the limit on open files "+
				"allows the agent too few: use fewer slots, or raise the limit (ulimit -n, LimitNOFILE=)", processes, 1+processes)
	}
	if len(p.slots)*(processes+1) > plan.MaxSlot {
		return nil, nil, nil, api.Refuse(api.CodeUnsupported,
			"each of %d processes of the program needs ids of its own, and %d slots leave too few: use fewer slots",
			processes, len(p.slots))
	}

	// This only asks. The memory is reserved in the last lines, when all leases exist, so that no error in
	// between has any to give back.
	memory := api.Size(processes)*program.Memory + interactor.Memory
	if err := p.checkMemory(memory, "the memory of the program and the interactor together"); err != nil {
		return nil, nil, nil, err
	}

	// The leases of one run are given back one after the other: a free slot may have a companion that is
	// still leased.
	busy := func(s *slotState) bool {
		return slices.ContainsFunc(s.companions, func(c *slotState) bool { return c.leased })
	}
	s := choose(slices.DeleteFunc(slices.Clone(p.slots), busy), program.Cell.Key, program.Once)
	if s == nil {
		return nil, nil, nil, api.Fail(api.CodeBusy, "all %d slots are busy: send the run again", len(p.slots))
	}

	// Companions have descriptors of their own, and a program without an interactor needs none. So they are
	// made by the first run that needs them, and stay.
	for len(s.companions) < processes {
		if err := p.addCompanion(s); err != nil {
			return nil, nil, nil, err
		}
	}

	lease := func(s *slotState, w Want, maximum int) *Lease {
		l, one := p.leaseKeeper(s, w.Cell, w.Once, maximum)
		if one != nil {
			surplus = append(surplus, one)
		}
		return l
	}

	// The interactor's companion may keep only so many cells that each process of the program has room for
	// its own.
	companion = lease(s.companions[0], interactor, min(companionKeepers, p.capacity.Keepers-processes))
	programs = []*Lease{lease(s, program, p.maxKeepers(s))}
	for _, c := range s.companions[1:processes] {
		programs = append(programs, lease(c, program, 1))
	}

	programs[0].memory, p.reserved = memory, p.reserved+memory
	return programs, companion, append(surplus, p.trim(s)...), nil
}

// addCompanion gives a slot one more companion. p.mu is held.
func (p *Pool) addCompanion(s *slotState) error {
	index := len(p.slots)*(1+len(s.companions)) + s.slot.index
	slot, err := NewSlot(index, s.slot.own, s.slot.all)
	if err != nil {
		return err
	}
	c := &slotState{slot: slot, keepers: map[plan.CellKey]*keeper{}}
	s.companions, p.companions = append(s.companions, c), append(p.companions, c)
	return nil
}

// trim removes keepers until a slot with its companions has no more than it may: first from companions that
// are not leased, then the oldest of the slot and of its interactors. The newest of each is the one just
// leased. p.mu is held.
func (p *Pool) trim(s *slotState) (surplus []*keeper) {
	over := func() bool { return len(s.keepers) > p.maxKeepers(s) || p.keepers(s) > p.capacity.Keepers }
	for _, c := range slices.Backward(s.companions) {
		for !c.leased && len(c.keepers) > 0 && over() {
			surplus = append(surplus, c.removeOldest())
		}
	}
	for _, one := range append([]*slotState{s}, s.companions...) {
		for len(one.keepers) > 1 && over() {
			surplus = append(surplus, one.removeOldest())
		}
	}
	return surplus
}

// keepers is how many cells a slot and its companions keep. p.mu is held.
func (p *Pool) keepers(s *slotState) int {
	n := len(s.keepers)
	for _, c := range s.companions {
		n += len(c.keepers)
	}
	return n
}
