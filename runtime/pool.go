package runtime

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A pool leases slots. It never queues: a request that finds no free slot, or no
// memory to promise, is refused at once, and the caller may come again.
type pool struct {
	host   *Host
	memory api.Size // most that may be promised to runs at a time
	room   room

	mu        sync.Mutex
	slots     []*stall      // guarded by mu
	committed api.Size      // guarded by mu; the sum of the leased runs' limits
	closed    bool          // guarded by mu
	expected  time.Duration // guarded by mu; until when one who found no slot comes again
	testLast  bool          // guarded by mu; a test of many had the slot that was leased last
	turns     int           // guarded by mu; how many execs await one
	waiting   int           // guarded by mu; how many await a release
	released  chan struct{} // guarded by mu; closed by the next release that somebody awaits

	removed chan struct{}   // holds one word that images were removed from the store
	over    context.Context // ended by stop
	stop    context.CancelFunc
	wg      sync.WaitGroup
}

// A stall is a slot with its berths.
type stall struct {
	slot   *slot
	leased bool
	last   time.Duration // when it was given back
	berths map[cellKey]*berth
}

// The bounds on cells that nobody uses.
const (
	maxBerths = 8 // per slot
	idleLife  = 5 * time.Minute
	idleTick  = 30 * time.Second
)

func newPool(h *Host, slots []*slot, memory api.Size, room room) *pool {
	ctx, stop := context.WithCancel(context.Background())
	p := &pool{host: h, memory: memory, room: room, over: ctx, stop: stop, released: make(chan struct{}), removed: make(chan struct{}, 1)}
	for _, s := range slots {
		p.slots = append(p.slots, &stall{slot: s, berths: map[cellKey]*berth{}})
	}
	p.wg.Go(func() { p.evict(ctx) })
	return p
}

// A lease is the right to one run in one berth's cell; an exec's is to the slot alone.
type lease struct {
	pool   *pool
	stall  *stall
	berth  *berth
	memory api.Size
	offer  offer
	live   *live
}

// lease admits a run and returns a cell and a parked shell for it.
func (p *pool) lease(ctx context.Context, want cellPlan, once bool, memory api.Size) (*lease, error) {
	since := monotonic()
	memory += want.copySize()
	l, surplus, err := p.admit(want, once, memory)
	if err != nil {
		return nil, err
	}
	if surplus != nil {
		surplus.Close()
	}
	for {
		if l.offer, err = l.berth.take(ctx); err != nil {
			p.release(l)
			return nil, api.Fail(api.CodeStopping, "canceled while a cell was being made: %w", err)
		}
		if l.offer.err == nil {
			return l, nil
		}
		l.berth.back <- false
		if l.offer.at >= since {
			p.release(l)
			return nil, l.offer.err
		}
		// The failure is older than this request; the keeper is trying again.
	}
}

// admit decides who may run, and where: on a free slot whose shell for this kind
// of run is ready, else one whose cell exists, else one that has to build it. A
// slot with too many kinds of cells gives up the one longest unused, which is the
// caller's to close: otherwise requests of ever new kinds could fill the host.
func (p *pool) admit(want cellPlan, once bool, memory api.Size) (l *lease, surplus *berth, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.affords(memory, want.promises()); err != nil {
		return nil, nil, err
	}
	s := choose(p.slots, want.key, once)
	if s == nil {
		return nil, nil, api.Fail(api.CodeBusy, "all %d slots are busy: send the run again", len(p.slots))
	}
	b := s.berths[want.key]
	if b == nil {
		if len(s.berths) >= p.room.berths {
			surplus = s.dropOldest()
		}
		want.slot, want.cpus, want.ids = s.slot.index, s.slot.cpus, &s.slot.ids
		b = newBerth(p.host, s.slot, want, once, p.room.lean)
		s.berths[want.key] = b
	}
	s.leased = true
	p.committed += memory
	b.used.Store(int64(monotonic()))
	return &lease{pool: p, stall: s, berth: b, memory: memory}, surplus, nil
}

// affords says whether memory can be promised beside what is; p.mu is held.
func (p *pool) affords(memory api.Size, what string) error {
	switch {
	case p.closed:
		return api.Fail(api.CodeStopping, "the agent is stopping: ask again later")
	case memory > p.memory:
		return api.Refuse(api.CodeAboveCeiling, "%s is %s and this agent promises %s to all runs together: ask for less, or have the operator raise it (brigd --memory)", what, memory, p.memory)
	case p.committed+memory > p.memory:
		return api.Fail(api.CodeOverloaded, "%s of memory is promised to other runs and sessions, and %s is the most: ask again later", p.committed, p.memory)
	}
	return nil
}

// promise gives a session its memory, which is counted as runs' is; redeem takes it
// back.
func (p *pool) promise(memory api.Size) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.affords(memory, "the session's memory with swap, scratch and the kernel's tables for pids times open_files"); err != nil {
		return err
	}
	p.committed += memory
	return nil
}

func (p *pool) redeem(memory api.Size) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.committed -= memory
	p.tell()
}

// choose picks a slot for a run, nil when all are leased. Of those with a shell ready
// it takes the one used last, whose processor has the way to it in its caches; of the
// others the one idle for longest, whose next shell is made first. A cell that serves
// once is as far from ready on a slot that just used one as on a slot without, so that
// all slots come to build them.
func choose(slots []*stall, key cellKey, once bool) *stall {
	const ready, made, none = 2, 1, 0
	rank := func(s *stall) int {
		b := s.berths[key]
		switch {
		case b != nil && b.waits.Load():
			return ready
		case b != nil && !once:
			return made
		}
		return none
	}
	var best *stall
	top := none
	for _, s := range slots {
		if s.leased {
			continue
		}
		r := rank(s) // asked once: a keeper may raise it at any time
		switch {
		case best == nil, r > top,
			r == top && r == ready && s.last > best.last,
			r == top && r != ready && s.last < best.last:
			best, top = s, r
		}
	}
	return best
}

// giveBack ends a lease: the shell is used up, the slot is free at once, and the
// keeper tidies behind us. doubt has the cell destroyed.
func (l *lease) giveBack(doubt bool) {
	l.berth.back <- doubt
	l.pool.release(l)
}

// giveBackEmpty is giveBack for a run whose processes the kernel still takes down: the
// slot is free when they are gone, or the agent ends.
func (l *lease) giveBackEmpty() {
	leaf, log := l.offer.shell.leaf, l.pool.host.log.With("slot", l.stall.slot.index, "cell", l.offer.cell.name)
	log.Warn("the slot waits for the processes of its last run, which were killed")
	l.pool.wg.Go(func() {
		for l.pool.over.Err() == nil {
			err := untilEmpty(leaf, time.Second)
			if !errors.Is(err, errOutlived) {
				break // empty, or nobody can say: the cell goes either way
			}
		}
		l.giveBack(true)
	})
}

func (p *pool) release(l *lease) {
	if l.berth != nil && l.berth.plan.copies() {
		// Slot and memory are free when the copy of the image is gone, and not before.
		p.mu.Lock()
		delete(l.stall.berths, l.berth.plan.key)
		p.mu.Unlock()
		l.berth.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l.stall.leased = false
	l.stall.last = monotonic()
	p.committed -= l.memory
	p.tell()
}

// tell wakes who waits for a slot, or for memory; p.mu is held.
func (p *pool) tell() {
	if p.waiting > 0 {
		close(p.released)
		p.released = make(chan struct{})
	}
}

// evict closes berths that nobody has used for a while, or whose image is gone.
func (p *pool) evict(ctx context.Context) {
	tick := time.NewTicker(idleTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.removed:
		}
		for _, b := range p.idle(p.gone()) {
			b.Close()
		}
		p.host.pages.sweep()
		p.host.deleteRetired()
	}
}

// gone are the trees that cells are of and the store has no more: their images were removed,
// or replaced.
func (p *pool) gone() map[imageTree]bool {
	p.mu.Lock()
	trees := map[imageTree]bool{}
	for _, s := range p.slots {
		for key := range s.berths {
			trees[key.imageTree] = true
		}
	}
	p.mu.Unlock() // what follows waits for a disk
	maps.DeleteFunc(trees, func(t imageTree, _ bool) bool {
		img, err := p.host.cfg.Images.Lookup(t.image)
		return err == nil && treeOf(img) == t
	})
	return trees
}

// idle takes the berths to be closed out of the pool.
func (p *pool) idle(gone map[imageTree]bool) []*berth {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*berth
	for _, s := range p.slots {
		if s.leased {
			continue
		}
		for key, b := range s.berths {
			if b.idleFor() > idleLife || gone[key.imageTree] {
				delete(s.berths, key)
				out = append(out, b)
			}
		}
	}
	return out
}

// dropOldest takes the berth longest unused out of a slot that nobody has leased.
func (s *stall) dropOldest() *berth {
	var key cellKey
	var oldest *berth
	for k, b := range s.berths {
		if oldest == nil || b.used.Load() < oldest.used.Load() {
			key, oldest = k, b
		}
	}
	delete(s.berths, key)
	return oldest
}

// stats counts slots, leased slots and cells, and tells the memory promised.
func (p *pool) stats() (slots, leased, cells int, committed api.Size) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if s.leased {
			leased++
		}
		cells += len(s.berths)
	}
	return len(p.slots), leased, cells, p.committed
}

// Close refuses new leases and destroys every cell. Runs under way must have
// ended: the agent waits for its handlers first.
func (p *pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.wg.Wait()

	var wg sync.WaitGroup
	var err error
	for _, s := range p.slots {
		for _, b := range s.berths {
			wg.Go(b.Close)
		}
	}
	wg.Wait()
	for _, s := range p.slots {
		err = errors.Join(err, s.slot.Close())
	}
	return err
}
