package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/image"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// Bases are made ahead, so that who makes a session does not wait for a cell. One goroutine makes them, one after the
// other. Each session that is made causes at most one base of its kind to be made: a caller can have no more made than
// it asks for, and what nobody asks for again ends after a while. Whose sessions they become is open until one takes
// them, and a session that finds none builds its own: so a key that asks for many kinds costs the others this time,
// and never a session (TestSessionsOnBasesMadeAhead).

// MaxAhead is how many bases there are at most that belong to no session, of all kinds. Like the cells of slots they
// are in addition to the memory that is reserved: some 1.5 MiB each.
const MaxAhead = 4

// A base is begun so long after the session that caused it: what that session executes first has the processors.
const aheadPause = 100 * time.Millisecond

// An aheadKind is what a base made ahead is for: sessions with such a cell. The scratch is that of the session that
// caused it, and is resized for another.
type aheadKind struct {
	cell    cell.Plan
	scratch cell.ScratchSize
	from    time.Duration // when it may be begun, on the monotonic clock
}

// A readyBase is a base that waits for a session.
type readyBase struct {
	*base
	key  plan.CellKey
	made time.Duration // on the monotonic clock
}

// ahead has the bases that were made ahead.
type ahead struct {
	registry *Registry
	wanted   chan aheadKind // to be made
	removed  chan struct{}  // buffered by one: images were removed
	stop     context.CancelFunc
	done     chan struct{} // closed when nothing is left

	mu      sync.Mutex
	ready   []readyBase          // guarded by mu; the oldest first
	queued  map[plan.CellKey]int // guarded by mu; to be made, or being made
	making  plan.CellKey         // guarded by mu; what is being made, if waiter may be set
	waiter  chan *base           // guarded by mu; buffered by one; of the session that waits for it; nil: none
	working bool                 // guarded by mu; making is being made, and waiter may be set
}

// newAhead makes an ahead for at most maximum bases; zero: none is made.
func newAhead(r *Registry, maximum int) *ahead {
	ctx, stop := context.WithCancel(context.Background())
	a := &ahead{registry: r, wanted: make(chan aheadKind, maximum), removed: make(chan struct{}, 1), stop: stop,
		done: make(chan struct{}), queued: map[plan.CellKey]int{}}
	go a.run(ctx)
	return a
}

// close ends the goroutine with all bases that no session has.
func (a *ahead) close() {
	a.stop()
	<-a.done
}

// Ahead is the number of bases that wait for a session.
func (r *Registry) Ahead() int {
	a := r.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.ready)
}

// take takes a base with a shell; nil: there is none. If one is being made that nobody waits for, take waits for it:
// it is ready sooner than another.
func (a *ahead) take(ctx context.Context, key plan.CellKey) *base {
	for {
		b, waiter := a.takeReady(key)
		switch {
		case waiter != nil:
			return a.await(ctx, waiter)
		case b == nil || !b.dead():
			return b
		}
		a.discard(b)
	}
}

// takeReady takes the newest base of a kind, or the channel that gets the one that is being made.
func (a *ahead) takeReady(key plan.CellKey) (b *base, waiter chan *base) {
	a.mu.Lock()
	defer a.mu.Unlock()

	for i, r := range slices.Backward(a.ready) {
		if r.key == key {
			a.ready = slices.Delete(a.ready, i, i+1)
			return r.base, nil
		}
	}

	if a.working && a.waiter == nil && a.making == key {
		a.waiter = make(chan *base, 1)
		return nil, a.waiter
	}
	return nil, nil
}

// await waits for the base that is being made; nil: it could not be made, or the caller has left.
func (a *ahead) await(ctx context.Context, waiter chan *base) *base {
	select {
	case b := <-waiter:
		return b
	case <-ctx.Done():
	}

	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiter == waiter {
		a.waiter = nil // it stays for another
		return nil
	}
	return <-waiter
}

// want has a base made of the kind that a session has, unless there are enough.
func (a *ahead) want(kind aheadKind) {
	a.mu.Lock()
	defer a.mu.Unlock()

	key := kind.cell.Key
	have := a.queued[key]
	for _, r := range a.ready {
		if r.key == key {
			have++
		}
	}
	if have >= cap(a.wanted) {
		return
	}

	select {
	case a.wanted <- kind:
		a.queued[key]++
	default: // others are made first
	}
}

// imagesRemoved has the bases closed whose image the store no longer has.
func (a *ahead) imagesRemoved() {
	select {
	case a.removed <- struct{}{}:
	default: // it is looked at anyway
	}
}

// run is the goroutine.
func (a *ahead) run(ctx context.Context) {
	defer close(a.done)
	for ctx.Err() == nil {
		idle := time.NewTimer(a.untilIdle())
		select {
		case <-ctx.Done():
		case kind := <-a.wanted:
			a.make(ctx, kind)
		case <-a.removed:
			a.closeRemoved()
			a.registry.runner.Pool.Factory.Images.ReleaseUnused()
		case <-idle.C:
			a.closeWhere(func(b readyBase) bool { return linux.Monotonic()-b.made >= image.IdleLife })
		}
		idle.Stop()
	}
	a.closeWhere(func(readyBase) bool { return true })
}

// untilIdle is how long the oldest base may still wait for a session.
func (a *ahead) untilIdle() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.ready) == 0 {
		return time.Hour
	}
	return max(a.ready[0].made+image.IdleLife-linux.Monotonic(), 0)
}

// make makes one base, and gives it to the session that waits for it, if one does.
func (a *ahead) make(ctx context.Context, kind aheadKind) {
	select {
	case <-time.After(kind.from - linux.Monotonic()):
	case <-ctx.Done():
		return
	}

	a.closeOldest() // first: there are never more than the maximum
	release := a.registry.runner.Pool.Factory.AcquireBuilder()
	key := kind.cell.Key
	a.mu.Lock()
	a.making, a.working = key, true
	a.mu.Unlock()

	b, err := a.build(ctx, kind)
	release()
	if err != nil && ctx.Err() == nil {
		a.registry.log.Warn("no cell was made ahead for sessions", "err", err) // a session that builds its own reports it
	}

	a.mu.Lock()
	waiter := a.waiter
	a.waiter, a.working = nil, false
	if a.queued[key]--; a.queued[key] == 0 {
		delete(a.queued, key)
	}
	switch {
	case waiter != nil:
		waiter <- b // never blocks: it is the only one
	case b != nil:
		a.ready = append(a.ready, readyBase{b, key, linux.Monotonic()})
	}
	a.mu.Unlock()
	a.closeRemoved() // its image may have been removed meanwhile
}

// build makes a base with its shell.
func (a *ahead) build(ctx context.Context, kind aheadKind) (*base, error) {
	b, err := a.registry.newBase()
	if err != nil {
		return nil, err
	}
	if err := b.build(ctx, kind.cell, kind.scratch); err != nil {
		b.free()
		return nil, err
	}
	if err := errors.Join(b.makeShell(ctx, nil), b.idRange.built()); err != nil {
		a.discard(b)
		return nil, err
	}
	return b, nil
}

// closeOldest makes room for one more base.
func (a *ahead) closeOldest() {
	var oldest *base
	a.mu.Lock()
	if len(a.ready) >= cap(a.wanted) {
		oldest = a.ready[0].base
		a.ready = slices.Delete(a.ready, 0, 1)
	}
	a.mu.Unlock()
	if oldest != nil {
		a.discard(oldest)
	}
}

// closeRemoved closes the bases whose image was removed from the store, or replaced.
func (a *ahead) closeRemoved() {
	a.mu.Lock()
	trees := map[plan.ImageTree]bool{}
	for _, b := range a.ready {
		trees[b.key.ImageTree] = true
	}
	a.mu.Unlock() // the lookups below may wait for a disk

	images := a.registry.runner.Pool.Factory.Images
	for t := range trees {
		trees[t] = images.Stores(t)
	}
	a.closeWhere(func(b readyBase) bool { stored, looked := trees[b.key.ImageTree]; return looked && !stored })
}

// closeWhere closes the bases for which is says so.
func (a *ahead) closeWhere(is func(readyBase) bool) {
	var closing []readyBase
	a.mu.Lock()
	kept := a.ready[:0]
	for _, b := range a.ready {
		if is(b) {
			closing = append(closing, b)
		} else {
			kept = append(kept, b)
		}
	}
	clear(a.ready[len(kept):])
	a.ready = kept
	a.mu.Unlock()

	for _, b := range closing {
		a.discard(b.base)
	}
}

// discard closes a base that no session gets.
func (a *ahead) discard(b *base) {
	if err := b.close(); err != nil {
		a.registry.log.Error("cell not completely destroyed; the next start of brigd removes the rest", "cell", b.cell.Name,
			"err", err)
	}
	b.free()
}
