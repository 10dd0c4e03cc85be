package pool

import (
	"context"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// Acquire waits for its turn, leases a slot with a cell, and waits for a prepared shell in it.
func (p *Pool) Acquire(ctx context.Context, t Turn, want Want) (*Lease, error) {
	return p.acquire(ctx, &waiter{Turn: t}, want)
}

// AcquireOptional is Acquire for work that runs can do without, which a request has caused that holds no
// slot meanwhile. It waits for a slot until a time. For memory it waits only as waitsForMemory says.
//
// If yield is not nil, nobody waits for the work: it gets a slot only while nobody else waits, and yield is called,
// with a lock held, as soon as somebody has to wait. The work must end then.
func (p *Pool) AcquireOptional(ctx context.Context, want Want, until time.Duration, yield func()) (*Lease, error) {
	return p.acquire(ctx, &waiter{Turn: Turn{Kind: optional}, until: until, yield: yield}, want)
}

func (p *Pool) acquire(ctx context.Context, w *waiter, want Want) (l *Lease, err error) {
	since := linux.Monotonic()
	want.Memory += want.Cell.CopySize()
	var surplus *keeper
	w.size = want.Memory
	w.grant = func() (err error) {
		if l, surplus, err = p.admit(want); err == nil {
			l.slotState.yield = w.yield
		}
		return err
	}
	if err := p.await(ctx, w); err != nil {
		return nil, err
	}
	if surplus != nil {
		surplus.Close()
	}
	if err := l.take(ctx, since); err != nil {
		return nil, err
	}
	return l, nil
}

// AcquireForExec leases a slot without a cell, for an exec: it has a cell, and the memory of its programs is
// reserved.
func (p *Pool) AcquireForExec(ctx context.Context, m Memory) (l *Lease, err error) {
	err = p.await(ctx, &waiter{Turn: Turn{Kind: Exec, Memory: m}, grant: func() error {
		if p.closed {
			return api.Fail(api.CodeStopping, "the agent is stopping: send the request again later")
		}
		s := choose(p.slots, plan.CellKey{}, false)
		s.leased = true
		l = &Lease{Pool: p, slotState: s, since: linux.Monotonic()}
		return nil
	}})
	return l, err
}

// AwaitMemory waits for its turn to get memory of the agent, and no slot.
func (p *Pool) AwaitMemory(ctx context.Context, t Turn) error {
	return p.await(ctx, &waiter{Turn: t, noSlot: true, grant: func() error { return nil }})
}
