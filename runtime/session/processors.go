package session

import (
	"errors"
	"slices"

	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// A session has the processors of the slots that its execs have leased. While it has no such exec,
// it has the idle ones. So processes that an exec left running do not compete with the runs of
// other keys as equals. While the session has a slot, they run on the processors of that slot.
// Without a slot they may run anywhere, but at a low weight: all sessions together have half the
// weight of a run (TestStormsLeaveTheNeighbourAlone: a spinning process left behind made a
// neighbour's run miss its wall limit).

// The weights of a session without a slot.
const (
	maxLeftoverWeight   = 64  // a sixteenth of a run's
	totalLeftoverWeight = 512 // of all sessions together, if there are so many that it matters
	minWeight           = 2   // the kernel's minimum
)

// leftoverWeight is the weight of a session that has left processes running and has no slot, where
// there may be n sessions.
func leftoverWeight(n int) int64 {
	return max(min(maxLeftoverWeight, totalLeftoverWeight/int64(max(n, 1))), minWeight)
}

// useSlot gives the session the processors of a slot for an exec. The processes left running move
// there first, and then the session gets its weight. on is nil for a resident: it counts as left running from its
// start, whether it waits or computes. A program that seems to wait and then computes gets nothing by that
// (TestHostileResidentsLeaveTheRunsAlone).
func (s *session) useSlot(v *execContext, on *pool.Slot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.slot = on
	return errors.Join(s.applyCPUShare(), s.creditRemoved())
}

// releaseSlot takes the processors away, before another caller may get the slot: the weight first. If
// that fails the session ends, because otherwise it would keep the processor.
func (s *session) releaseSlot(v *execContext) {
	s.mu.Lock()
	v.slot = nil
	err := s.applyCPUShare()
	s.mu.Unlock()
	if err != nil {
		s.registry.log.Error("session failed", "session", s.id, "err", err)
		s.end("the agent could not limit the processes that an exec left running")
	}
}

// applyCPUShare applies the session's current processors and weight. s.mu is held. It costs no write for
// a session that has left nothing running, as most have not.
func (s *session) applyCPUShare() error {
	if s.closed {
		return nil
	}

	left := slices.Clone(s.leftLeaves)
	var slots []*pool.Slot
	for _, v := range s.running {
		switch {
		case v == nil || v.leaf == nil:
		case v.slot != nil:
			slots = append(slots, v.slot)
		case v.resident:
			left = append(left, v.leaf) // also before its program begins
		default:
			if empty, err := v.leaf.Empty(); err != nil {
				return err
			} else if !empty {
				left = append(left, v.leaf)
			}
		}
	}

	switch {
	case len(slots) > 0:
		return errors.Join(s.confine(left, s.cpusOf(slots)), s.group.SetWeight(s.plan.Limits.Weight))
	case len(left) > 0:
		return errors.Join(s.group.SetWeight(min(s.registry.weight, s.plan.Limits.Weight)), s.confine(left, ""))
	}

	return nil
}

// cpusOf returns the processors of the slots, as far as the session's limit lets a program of it
// use them; empty: all.
func (s *session) cpusOf(slots []*pool.Slot) string {
	var cpus []int
	for _, on := range slots {
		list := on.CpusetFor(s.plan.Limits)
		one, err := plan.ParseCPUs(list)
		if list == "" || err != nil {
			return ""
		}
		cpus = append(cpus, one...)
	}
	slices.Sort(cpus)
	return plan.FormatCPUs(slices.Compact(cpus))
}

// confine restricts leaves to the given processors; empty: to the session's. If root chose the
// session's processors, they stay unchanged.
func (s *session) confine(leaves []*groups.Leaf, cpuset string) error {
	if s.plan.Limits.Cpuset != "" {
		return nil
	}
	var err error
	for _, leaf := range leaves {
		err = errors.Join(err, leaf.SetCpuset(cpuset))
	}
	return err
}
