package runtime

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A pool leases slots. It never queues: if no slot is free, or not enough memory can be reserved, a
// request is refused at once and the caller may retry.
type pool struct {
	host     *Host
	memory   api.Size // most that may be reserved for runs and sessions together
	capacity capacity

	mu           sync.Mutex
	slots        []*slotState  // guarded by mu
	reserved     api.Size      // guarded by mu; the memory of all leased runs and of all sessions
	closed       bool          // guarded by mu
	retryUntil   time.Duration // guarded by mu; until then a refused caller is expected to retry
	lastWasTest  bool          // guarded by mu; the slot leased last went to a further test of a job
	waitingExecs int           // guarded by mu; number of execs that wait for a slot
	waiters      int           // guarded by mu; number of callers that wait for a release
	released     chan struct{} // guarded by mu; closed at the next release if a caller waits for it

	removed chan struct{}   // buffered by one; signals that images were removed from the store
	over    context.Context // canceled by stop
	stop    context.CancelFunc
	wg      sync.WaitGroup
}

// A slotState is the state of one slot: whether it is leased, and its keepers.
type slotState struct {
	slot    *slot
	leased  bool
	last    time.Duration // when the last lease ended
	keepers map[cellKey]*keeper
}

// Limits on idle cells.
const (
	maxKeepers = 8 // per slot
	idleLife   = 5 * time.Minute
	idleTick   = 30 * time.Second
)

func newPool(h *Host, slots []*slot, memory api.Size, capacity capacity) *pool {
	ctx, stop := context.WithCancel(context.Background())
	p := &pool{host: h, memory: memory, capacity: capacity, over: ctx, stop: stop, released: make(chan struct{}), removed: make(chan struct{}, 1)}
	for _, s := range slots {
		p.slots = append(p.slots, &slotState{slot: s, keepers: map[cellKey]*keeper{}})
	}
	p.wg.Go(func() { p.evict(ctx) })
	return p
}

// A lease is the exclusive right to one run in the cell of one keeper. The lease of an exec covers
// the slot only.
type lease struct {
	pool      *pool
	slotState *slotState
	keeper    *keeper
	memory    api.Size
	prepared  preparedShell
	reporter  *usageReporter
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
		if l.prepared, err = l.keeper.take(ctx); err != nil {
			p.release(l)
			return nil, api.Fail(api.CodeStopping, "canceled while a cell was being made: %w", err)
		}
		if l.prepared.err == nil {
			return l, nil
		}
		l.keeper.returned <- false
		if l.prepared.begun >= since {
			p.release(l)
			return nil, l.prepared.err
		}
		// The failure is older than this request; the keeper is trying again.
	}
}

// admit decides whether a run may start, and on which slot: a free one whose shell for this kind of
// run is ready, else one whose cell exists, else one that has to build it. A slot with too many
// kinds of cells gives up its least recently used keeper, which the caller must close. Otherwise
// requests for ever new kinds of cells could fill the host.
func (p *pool) admit(want cellPlan, once bool, memory api.Size) (l *lease, surplus *keeper, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.checkMemory(memory, want.reservedFor()); err != nil {
		return nil, nil, err
	}
	s := choose(p.slots, want.key, once)
	if s == nil {
		return nil, nil, api.Fail(api.CodeBusy, "all %d slots are busy: send the run again", len(p.slots))
	}
	b := s.keepers[want.key]
	if b == nil {
		if len(s.keepers) >= p.capacity.keepers {
			surplus = s.removeOldest()
		}
		want.slot, want.cpus, want.ids = s.slot.index, s.slot.cpus, &s.slot.ids
		b = newKeeper(p.host, s.slot, want, once, p.capacity.singleLeaf)
		s.keepers[want.key] = b
	}
	s.leased = true
	p.reserved += memory
	b.lastLease.Store(int64(monotonic()))
	return &lease{pool: p, slotState: s, keeper: b, memory: memory}, surplus, nil
}

// checkMemory returns an error if memory cannot be reserved in addition to what is already reserved.
// p.mu is held.
func (p *pool) checkMemory(memory api.Size, what string) error {
	switch {
	case p.closed:
		return api.Fail(api.CodeStopping, "the agent is stopping: send the request again later")
	case memory > p.memory:
		return api.Refuse(api.CodeAboveCeiling, "%s is %s and this agent reserves at most %s for all runs together: ask for less, or have the operator raise it (brigd --memory)", what, memory, p.memory)
	case p.reserved+memory > p.memory:
		return api.Fail(api.CodeOverloaded, "%s of memory is reserved for other runs and sessions, and %s is the most: send the request again later", p.reserved, p.memory)
	}
	return nil
}

// reserveMemory reserves memory for a session, in the same account as that of runs. releaseMemory
// releases it.
func (p *pool) reserveMemory(memory api.Size) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.checkMemory(memory, "the session's memory with swap, scratch and the kernel's tables for pids times open_files"); err != nil {
		return err
	}
	p.reserved += memory
	return nil
}

func (p *pool) releaseMemory(memory api.Size) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved -= memory
	p.wakeWaiters()
}

// choose picks a slot for a run, or returns nil if all are leased. Among slots with a ready shell
// it takes the one used most recently, because its processor still has that path in its caches.
// Among the others it takes the one idle for longest, because its next shell is made first. A cell
// that serves only one run is as far from ready on a slot that has just used one as on a slot
// without a keeper, so that over time all slots build such cells.
func choose(slots []*slotState, key cellKey, once bool) *slotState {
	const ready, made, none = 2, 1, 0
	rank := func(s *slotState) int {
		b := s.keepers[key]
		switch {
		case b != nil && b.available.Load():
			return ready
		case b != nil && !once:
			return made
		}
		return none
	}
	var best *slotState
	top := none
	for _, s := range slots {
		if s.leased {
			continue
		}
		r := rank(s) // read once: a keeper may raise it at any time
		switch {
		case best == nil, r > top,
			r == top && r == ready && s.last > best.last,
			r == top && r != ready && s.last < best.last:
			best, top = s, r
		}
	}
	return best
}

// giveBack ends a lease. The shell is used up, the slot is free at once, and the keeper cleans up
// in the background. If doubt is set, the keeper destroys the cell.
func (l *lease) giveBack(doubt bool) {
	l.keeper.returned <- doubt
	l.pool.release(l)
}

// giveBackWhenEmpty is giveBack for a run whose processes the kernel is still taking down: the slot is
// free when they are gone, or when the agent stops.
func (l *lease) giveBackWhenEmpty() {
	leaf, log := l.prepared.shell.leaf, l.pool.host.log.With("slot", l.slotState.slot.index, "cell", l.prepared.cell.name)
	log.Warn("the slot waits for the processes of its last run, which were killed")
	l.pool.wg.Go(func() {
		for l.pool.over.Err() == nil {
			err := waitEmpty(leaf, time.Second)
			if !errors.Is(err, errStillRunning) {
				break // empty, or the check failed: the cell is destroyed in both cases
			}
		}
		l.giveBack(true)
	})
}

func (p *pool) release(l *lease) {
	if l.keeper != nil && l.keeper.plan.copies() {
		// Slot and memory are freed only after the copy of the image is deleted.
		p.mu.Lock()
		delete(l.slotState.keepers, l.keeper.plan.key)
		p.mu.Unlock()
		l.keeper.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l.slotState.leased = false
	l.slotState.last = monotonic()
	p.reserved -= l.memory
	p.wakeWaiters()
}

// wakeWaiters wakes the callers that wait for a slot or for memory. p.mu is held.
func (p *pool) wakeWaiters() {
	if p.waiters > 0 {
		close(p.released)
		p.released = make(chan struct{})
	}
}

// evict closes keepers that have been idle for too long, or whose image was removed.
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
		for _, b := range p.takeIdle(p.removedTrees()) {
			b.Close()
		}
		p.host.pages.releaseUnused()
		p.host.deleteRetired()
	}
}

// removedTrees returns the image trees that cells use but the store no longer has: their images were
// removed or replaced.
func (p *pool) removedTrees() map[imageTree]bool {
	p.mu.Lock()
	trees := map[imageTree]bool{}
	for _, s := range p.slots {
		for key := range s.keepers {
			trees[key.imageTree] = true
		}
	}
	p.mu.Unlock() // the lookups below may wait for a disk
	maps.DeleteFunc(trees, func(t imageTree, _ bool) bool {
		img, err := p.host.cfg.Images.Lookup(t.image)
		return err == nil && treeOf(img) == t
	})
	return trees
}

// takeIdle removes the keepers that are to be closed from the pool and returns them.
func (p *pool) takeIdle(removed map[imageTree]bool) []*keeper {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*keeper
	for _, s := range p.slots {
		if s.leased {
			continue
		}
		for key, b := range s.keepers {
			if b.idleFor() > idleLife || removed[key.imageTree] {
				delete(s.keepers, key)
				out = append(out, b)
			}
		}
	}
	return out
}

// removeOldest removes the least recently used keeper from a slot that is not leased.
func (s *slotState) removeOldest() *keeper {
	var key cellKey
	var oldest *keeper
	for k, b := range s.keepers {
		if oldest == nil || b.lastLease.Load() < oldest.lastLease.Load() {
			key, oldest = k, b
		}
	}
	delete(s.keepers, key)
	return oldest
}

// stats counts slots, leased slots and cells, and returns the reserved memory.
func (p *pool) stats() (slots, leased, cells int, committed api.Size) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if s.leased {
			leased++
		}
		cells += len(s.keepers)
	}
	return len(p.slots), leased, cells, p.reserved
}

// Close refuses new leases and destroys every cell. All runs must have ended before: the agent
// waits for its handlers first.
func (p *pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.wg.Wait()

	var wg sync.WaitGroup
	var err error
	for _, s := range p.slots {
		for _, b := range s.keepers {
			wg.Go(b.Close)
		}
	}
	wg.Wait()
	for _, s := range p.slots {
		err = errors.Join(err, s.slot.Close())
	}
	return err
}
