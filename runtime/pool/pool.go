// Package pool leases slots with prepared cells and shells, and reserves memory for runs and sessions.
package pool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/image"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A Pool leases slots, and reserves memory for sessions. A new request waits for as long as its caller wants; if
// there is no slot or not enough memory then, the pool refuses it, and the caller may retry. Further tests and execs wait as long
// as necessary: their run or session was admitted before. All wait in one line.
type Pool struct {
	Factory  *cell.Factory
	scratch  cell.ScratchSize
	memory   api.Size // most that may be reserved for runs and sessions together
	capacity Capacity

	mu          sync.Mutex
	slots       []*slotState  // guarded by mu
	companions  []*slotState  // guarded by mu; of all slots
	reserved    api.Size      // guarded by mu; the memory of all leased runs and of all sessions
	sessions    sessions      // guarded by mu; the part of it that sessions have
	lacking     error         // guarded by mu; of overloaded, made when lackingAt was reserved
	lackingAt   api.Size      // guarded by mu
	closed      bool          // guarded by mu
	line        []*waiter     // guarded by mu; the callers that wait, the first to come first
	lastWasTest bool          // guarded by mu; the last slot was leased for a further test of a job
	leaseTime   time.Duration // guarded by mu; how long a slot is leased, on average of the last ones
	idleSince   time.Duration // guarded by mu; when the last of all slots became free

	residents residents // of sessions

	waiting atomic.Int64  // number of callers in the line
	freed   chan struct{} // memory of the agent was released

	over context.Context // canceled by stop
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// A slotState is the state of one slot: whether it is leased, and its keepers.
type slotState struct {
	slot    *Slot
	leased  bool
	yield   func()        // ends the work that has the lease, for a caller that waits; nil: it need not end
	last    time.Duration // when the last lease ended
	keepers map[plan.CellKey]*keeper

	// companions run what runs next to a program in this slot, on the same processors, with other ids: the first
	// has interactors, the others further processes of the program. Each is made for the first run that needs it.
	companions []*slotState
}

// Limits on idle cells.
const (
	MaxKeepers = 8 // per slot
	idleTick   = 30 * time.Second
)

// New makes a pool of slots, which it closes. memory is the most that may be reserved.
func New(f *cell.Factory, slots []*Slot, scratch cell.ScratchSize, memory api.Size, capacity Capacity) *Pool {
	ctx, stop := context.WithCancel(context.Background())
	p := &Pool{Factory: f, scratch: scratch, memory: memory, capacity: capacity, over: ctx, stop: stop,
		freed: make(chan struct{}, 1)}
	for _, s := range slots {
		p.slots = append(p.slots, &slotState{slot: s, keepers: map[plan.CellKey]*keeper{}})
	}
	p.wg.Go(func() { p.evict(ctx) })
	p.wg.Go(func() { p.serveFreed(ctx) })
	return p
}

// A Lease is the exclusive right to one run in the cell of one keeper. The lease of an exec is to
// the slot alone: it has no keeper and no memory.
type Lease struct {
	Pool      *Pool
	slotState *slotState
	keeper    *keeper
	memory    api.Size
	since     time.Duration // when it began
	Prepared  preparedShell
}

// Slot is the leased slot.
func (l *Lease) Slot() *Slot { return l.slotState.slot }

// take waits for the shell of a lease. On failure the lease has ended.
func (l *Lease) take(ctx context.Context, since time.Duration) (err error) {
	p := l.Pool
	for {
		if l.Prepared, err = l.keeper.take(ctx); err != nil {
			p.Release(l)
			return api.Fail(api.CodeStopping, "canceled while a cell was being made: %w", err)
		}
		if l.Prepared.err == nil {
			return nil
		}

		l.keeper.returned <- false
		if l.Prepared.begun >= since {
			p.Release(l)
			return l.Prepared.err
		}
		// The failure is older than this request; the keeper is trying again.
	}
}

// admit decides whether a run may start, and on which free slot. It takes a slot with a ready shell
// for this kind of run, else a slot with the cell, else a slot that must first build the cell. If
// such a slot already has the maximum of keepers, admit removes the least recently used one from it
// (surplus), and the caller must close that one. Otherwise requests for more and more kinds of
// cells could fill the host. p.mu is held.
func (p *Pool) admit(want Want) (l *Lease, surplus *keeper, err error) {
	if err := p.checkMemory(want.Memory, want.Cell.ReservedFor()); err != nil {
		return nil, nil, err
	}
	s := choose(p.slots, want.Cell.Key, want.Once)
	l, surplus = p.leaseKeeper(s, want.Cell, want.Once, p.maxKeepers(s))
	p.reserved += want.Memory
	l.memory = want.Memory
	return l, surplus, nil
}

// leaseKeeper leases a slot with the keeper of a kind of cells, and removes one that is surplus if it has
// the maximum already. p.mu is held.
func (p *Pool) leaseKeeper(s *slotState, want cell.Plan, once bool, maximum int) (l *Lease, surplus *keeper) {
	k := s.keepers[want.Key]
	if k == nil {
		if len(s.keepers) >= maximum {
			surplus = s.removeOldest()
		}
		want.Slot, want.CPUs, want.IDs = s.slot.index, s.slot.cpus, &s.slot.ids
		k = newKeeper(p.Factory, s.slot, want, once, p.capacity.SingleLeaf, p.scratch)
		s.keepers[want.Key] = k
	}

	s.leased = true
	now := linux.Monotonic()
	k.lastLease.Store(int64(now))
	return &Lease{Pool: p, slotState: s, keeper: k, since: now}, surplus
}

// checkMemory returns an error if memory cannot be reserved in addition to what is already reserved.
// p.mu is held.
func (p *Pool) checkMemory(memory api.Size, what string) error {
	switch {
	case p.closed:
		return api.Fail(api.CodeStopping, "the agent is stopping: send the request again later")
	case memory > p.memory:
		return api.Refuse(api.CodeAboveCeiling,
			"%s is %s and this agent reserves at most %s for all runs together: ask for less, or have the operator "+
				"raise it (brigd --memory)", what, memory, p.memory)
	case p.reserved+memory > p.memory:
		return p.overloaded()
	}
	return nil
}

// overloaded is the error that memory is reserved for others. All that wait for memory get it again and again, so it
// is made once for each amount. p.mu is held.
func (p *Pool) overloaded() error {
	if p.lacking == nil || p.lackingAt != p.reserved {
		p.lackingAt, p.lacking = p.reserved, api.Fail(api.CodeOverloaded,
			"%s of memory is reserved for other runs and sessions, and %s is the most: send the request again later",
			p.reserved, p.memory)
	}
	return p.lacking
}

// choose returns a slot for a run, or nil if all slots are leased. Slots with a ready shell come
// first: of these choose takes the most recently used one, because the caches of its processor
// still have what such a run uses. Next come slots that have the cell, and then all others: of
// these choose takes the one that is idle for longest, because it will have its next shell first.
// If a cell serves only one run (once), a slot without a ready shell counts as a slot without the
// cell. So over time all slots build such cells.
func choose(slots []*slotState, key plan.CellKey, once bool) *slotState {
	const ready, made, none = 2, 1, 0
	rank := func(s *slotState) int {
		k := s.keepers[key]
		switch {
		case k != nil && k.available.Load():
			return ready
		case k != nil && !once:
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

// GiveBack ends a lease. The keeper destroys the used shell in the background; the slot does not
// wait for that. If doubt is true, the keeper also destroys the cell.
func (l *Lease) GiveBack(doubt bool) {
	l.keeper.returned <- doubt
	l.Pool.Release(l)
}

// GiveBackWhenEmpty is GiveBack for a run whose processes were killed and have not ended yet. The
// lease ends when they have ended, or when the agent stops.
func (l *Lease) GiveBackWhenEmpty() {
	leaf, log := l.Prepared.Shell.Leaf,
		l.Pool.Factory.Log.With("slot", l.slotState.slot.index, "cell", l.Prepared.Cell.Name)
	log.Warn("the slot waits for the processes of its last run, which were killed")
	l.Pool.wg.Go(func() {
		for l.Pool.over.Err() == nil {
			err := cell.WaitEmpty(leaf, time.Second)
			if !errors.Is(err, cell.ErrStillRunning) {
				break // empty, or the check failed: the cell is destroyed in both cases
			}
		}
		l.GiveBack(true)
	})
}

// Release ends a lease. If its cell is on a copy of the image, the copy is deleted first.
func (p *Pool) Release(l *Lease) {
	if l.keeper != nil && l.keeper.plan.Copies() {
		// Delete the copy of the image first: only then are the slot and the memory free.
		p.mu.Lock()
		delete(l.slotState.keepers, l.keeper.plan.Key)
		p.mu.Unlock()
		l.keeper.Close()
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	now := linux.Monotonic()
	l.slotState.leased, l.slotState.yield = false, nil
	l.slotState.last = now
	p.reserved -= l.memory
	p.leaseTime += (now - l.since - p.leaseTime) / 8
	if p.allSlotsFree() {
		p.idleSince = now
	}

	p.dispatch()
}

// evict closes keepers that have been idle for too long, or whose image was removed.
func (p *Pool) evict(ctx context.Context) {
	tick := time.NewTicker(idleTick)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.Factory.Images.Removed:
		}
		for _, k := range p.takeIdle(p.removedTrees()) {
			k.Close()
		}
		p.Factory.Images.ReleaseUnused()
	}
}

// removedTrees returns the image trees that cells use but the store no longer has: their images were
// removed or replaced.
func (p *Pool) removedTrees() map[plan.ImageTree]bool {
	p.mu.Lock()
	trees := map[plan.ImageTree]bool{}
	for _, s := range p.states() {
		for key := range s.keepers {
			trees[key.ImageTree] = true
		}
	}
	p.mu.Unlock() // the lookups below may wait for a disk
	maps.DeleteFunc(trees, func(t plan.ImageTree, _ bool) bool { return p.Factory.Images.Stores(t) })
	return trees
}

// takeIdle takes keepers out of the pool that were idle for too long or whose image was removed.
// The caller must close them.
func (p *Pool) takeIdle(removed map[plan.ImageTree]bool) []*keeper {
	p.mu.Lock()
	defer p.mu.Unlock()

	var out []*keeper
	for _, s := range p.states() {
		if s.leased {
			continue
		}
		for key, k := range s.keepers {
			if k.idleFor() > image.IdleLife || removed[key.ImageTree] {
				delete(s.keepers, key)
				out = append(out, k)
			}
		}
	}

	return out
}

// states are those of the slots and of their companions. p.mu is held.
func (p *Pool) states() []*slotState { return slices.Concat(p.slots, p.companions) }

// removeOldest removes the least recently used keeper from a slot that is not leased.
func (s *slotState) removeOldest() *keeper {
	var key plan.CellKey
	var oldest *keeper
	for candidate, k := range s.keepers {
		if oldest == nil || k.lastLease.Load() < oldest.lastLease.Load() {
			key, oldest = candidate, k
		}
	}
	delete(s.keepers, key)
	return oldest
}

// Stats counts slots, leased slots and cells, and returns the reserved memory.
func (p *Pool) Stats() (slots, leased, cells int, committed api.Size) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if s.leased {
			leased++
		}
	}
	for _, s := range p.states() {
		cells += len(s.keepers)
	}
	return len(p.slots), leased, cells, p.reserved
}

// Close refuses new leases and destroys every cell. All runs must have ended before: the agent
// waits for its handlers first.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.wg.Wait()

	var wg sync.WaitGroup
	var err error
	for _, s := range p.states() {
		for _, k := range s.keepers {
			wg.Go(k.Close)
		}
	}

	wg.Wait()
	for _, s := range p.states() {
		err = errors.Join(err, s.slot.Close())
	}
	return err
}

// A Capacity is how many cells and sessions an agent can keep with the files that it may open.
type Capacity struct {
	Keepers    int  // cells a slot keeps
	SingleLeaf bool // each cell has only one leaf, and one shell at a time
	Sessions   int  // maximum number of living sessions

	SessionFiles int // what sessions with volumes and packages may have open in addition, all together
	Residents    int // maximum number of residents of all sessions together
}
