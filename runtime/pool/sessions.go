package pool

import (
	"context"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// sessions are what the living sessions have of a pool.
type sessions struct {
	living int           // number of them
	memory api.Size      // reserved for them
	life   time.Duration // how long a session lives, on average of the last ones
}

// A SessionWant is what a new session needs for its life.
type SessionWant struct {
	Memory api.Size
	// Take takes what the session needs apart from memory, or nothing; with CodeSessionsFull it waits for a session
	// to end. giveBack undoes it. The pool calls both with its lock held: they must not call the pool, and nobody may
	// call the pool while holding a lock that they need.
	Take func() (giveBack func(), err error)
}

// AwaitSession waits for its turn to make a session, for at most wait, and reserves the memory of the session; zero:
// api.SlotWait. The memory of runs and sessions has one common limit. It needs no slot, and holds none from others
// meanwhile. SessionEnded ends what it began.
func (p *Pool) AwaitSession(ctx context.Context, wait time.Duration, want SessionWant) error {
	w := &waiter{Turn: Turn{Kind: Session, Wait: wait}, noSlot: true, size: want.Memory}
	w.grant = func() error {
		const what = "the session's memory with swap, scratch and the kernel's tables for pids times open_files"
		lacking := p.checkMemory(want.Memory, what)
		if lacking != nil && !api.HasCode(lacking, api.CodeOverloaded) {
			return lacking
		}

		giveBack, err := want.Take() // whether or not there is memory: the want of a place is told first
		switch {
		case err != nil:
			return err
		case lacking != nil:
			giveBack()
			return lacking
		}

		p.reserved += want.Memory
		p.sessions.memory += want.Memory
		p.sessions.living++
		return nil
	}
	return p.await(ctx, w)
}

// SessionEnded releases the memory of a session that has lived so long; zero: it was not made.
func (p *Pool) SessionEnded(memory api.Size, lived time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved -= memory
	p.sessions.memory -= memory
	p.sessions.living--
	if lived > 0 {
		p.sessions.life += (lived - p.sessions.life) / 8
	}
	p.dispatch()
}
