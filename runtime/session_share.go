package runtime

import (
	"errors"
	"slices"

	groups "github.com/brig-sandbox/brig/cgroups"
)

// A session has the processors of the slots that its execs are leased, and while there
// is no such exec what is idle. So processes that an exec left running compete with no
// other key's run as an equal: while the session has a slot they run on the processors
// of that slot, and without one anywhere, at a weight that all sessions' together is half
// of a run's (TestStormsLeaveTheNeighbourAlone: a spinner left behind made a neighbour's
// run miss its wall limit).

// The weights of a session without a slot.
const (
	mostLeftWeight  = 64  // a sixteenth of a run's
	leftWeightOfAll = 512 // of all sessions together, where there are so many that it matters
	leastWeight     = 2   // the kernel's least
)

// leftWeight is the weight of a session that has left processes running and has no slot,
// where there may be n sessions.
func leftWeight(n int) int64 {
	return max(min(mostLeftWeight, leftWeightOfAll/int64(max(n, 1))), leastWeight)
}

// lend gives the session the processors of a slot for an exec: what is left running goes
// there first, and then the session has its weight.
func (s *session) lend(v *visit, on *slot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.slot = on
	return errors.Join(s.compete(), s.recount())
}

// lapse takes them away, before the slot may be another's: the weight first. What fails
// ends the session, which would keep the processor otherwise.
func (s *session) lapse(v *visit) {
	s.mu.Lock()
	v.slot = nil
	err := s.compete()
	s.mu.Unlock()
	if err != nil {
		s.host.log.Error("session in doubt", "session", s.id, "err", err)
		s.end("the agent could not bound what an exec left running")
	}
}

// compete applies what the session has by now; s.mu is held. A session that has left
// nothing running, as most have not, costs no write.
func (s *session) compete() error {
	if s.gone {
		return nil
	}
	left := slices.Clone(s.stay)
	var slots []*slot
	for _, v := range s.visits {
		switch {
		case v == nil || v.leaf == nil:
		case v.slot != nil:
			slots = append(slots, v.slot)
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
		return errors.Join(s.confine(left, s.cpusOf(slots)), s.group.Weigh(s.plan.limits.Weight))
	case len(left) > 0:
		return errors.Join(s.group.Weigh(min(leftWeight(s.host.cfg.Sessions), s.plan.limits.Weight)), s.confine(left, ""))
	}
	return nil
}

// cpusOf are the processors of the slots, as far as the session's limit lets a program
// of it have them; empty: all.
func (s *session) cpusOf(slots []*slot) string {
	var cpus []int
	for _, on := range slots {
		list := on.cpusetFor(s.plan.limits)
		one, err := parseCPUs(list)
		if list == "" || err != nil {
			return ""
		}
		cpus = append(cpus, one...)
	}
	slices.Sort(cpus)
	return cpuList(slices.Compact(cpus))
}

// confine has leaves run on processors; empty: on the session's. Where root chose the
// session's processors they stay those.
func (s *session) confine(leaves []*groups.Leaf, cpuset string) error {
	if s.plan.limits.Cpuset != "" {
		return nil
	}
	var err error
	for _, leaf := range leaves {
		err = errors.Join(err, leaf.Confine(cpuset))
	}
	return err
}
