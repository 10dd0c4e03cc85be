package session

import (
	"context"

	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
	"github.com/brig-sandbox/brig/runtime/run"
)

// A workplace is where the supervisor of one exec works: on a leased slot, or, for a resident, on one that is none of
// the pool's.
type workplace struct {
	pool  *pool.Pool
	slot  *pool.Slot
	lease *pool.Lease // of the slot; nil: that of a resident
}

// workplace waits for the slot of an exec, with the memory of the agent that stage reserves. A resident gets its own
// without a wait: it takes no slot from those in the line.
func (s *session) workplace(ctx context.Context, p *plan.Run, stage pool.Memory, streams run.Streams) (*workplace, error) {
	all := s.registry.runner.Pool
	if !p.Resident {
		l, err := all.AcquireForExec(ctx, stage)
		if err != nil {
			return nil, err
		}
		return &workplace{pool: all, slot: l.Slot(), lease: l}, nil
	}

	// The share of a stage belongs to slots, so the memory of a resident is of the common part.
	err := streams.Retention.Await(ctx, all, pool.Turn{Kind: pool.Exec}, run.MaxRetained(p, streams.Stdout != nil))
	if err != nil {
		return nil, err
	}
	on, err := all.OpenResident()
	return &workplace{pool: all, slot: on}, err
}

// leased is the slot, if it is leased.
func (w *workplace) leased() *pool.Slot {
	if w.lease == nil {
		return nil
	}
	return w.slot
}

// release gives a leased slot back.
func (w *workplace) release() {
	if w.lease != nil {
		w.pool.Release(w.lease)
		w.lease, w.slot = nil, nil
	}
}

// close gives back what is left of it. Nothing may wake its supervisor any more.
func (w *workplace) close() error {
	if w.slot != nil && w.lease == nil {
		slot := w.slot
		w.slot = nil
		return w.pool.CloseResident(slot)
	}
	return nil
}
