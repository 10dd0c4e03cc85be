// Package quota divides a resource between keys: bytes of memory, connections, or places. A Rule
// decides how much a key may have. A request that may not have its part now waits or is refused.
package quota

import (
	"container/list"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// ErrFull is the error of a request that did not get its part of a pool in time.
var ErrFull = errors.New("the quota is full")

// A Pool counts what keys have of one resource. It is safe for use by many goroutines.
type Pool struct {
	rule Rule

	mu      sync.Mutex
	total   int64            // guarded by mu; of all keys
	byKey   map[string]int64 // guarded by mu; only keys that have something
	waiting list.List        // guarded by mu; of *waiter, the longest first
}

// A waiter is a request that waits. granted is closed when it has its part.
type waiter struct {
	key     string
	n       int64
	granted chan struct{}
}

// New creates a Pool of which nothing is used.
func New(rule Rule) *Pool { return &Pool{rule: rule, byKey: map[string]int64{}} }

// TryAcquire takes n units for a key if the rule allows that now and no earlier request of the key
// waits. The caller must release them.
func (p *Pool) TryAcquire(key string, n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tryAcquire(key, n)
}

// Acquire is TryAcquire, but waits if necessary. Requests of a key get their parts in the order of
// arrival, so that a large one is not overtaken for ever; no key waits for another one's requests.
// The error is ErrFull when the request has waited as long as wait says, or the error of ctx. A
// wait of zero is as long as ctx.
func (p *Pool) Acquire(ctx context.Context, key string, n int64, wait time.Duration) error {
	p.mu.Lock()
	if p.tryAcquire(key, n) {
		p.mu.Unlock()
		return nil
	}

	w := &waiter{key, n, make(chan struct{})}
	elem := p.waiting.PushBack(w)
	p.mu.Unlock()
	var end <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		end = timer.C
	}

	err := ErrFull
	select {
	case <-w.granted:
		return nil
	case <-end:
	case <-ctx.Done():
		err = ctx.Err()
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	select {
	case <-w.granted: // in the same moment
		return nil
	default:
	}

	p.waiting.Remove(elem)
	p.serve() // those behind it may need less
	return err
}

// Release returns n units of a key.
func (p *Pool) Release(key string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(key, n)
}

// Used returns how many units a key has.
func (p *Pool) Used(key string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byKey[key]
}

// Total returns how many units all keys together have.
func (p *Pool) Total() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

// Keys returns the keys that have something, sorted.
func (p *Pool) Keys() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.byKey))
}

// tryAcquire is TryAcquire; p.mu is held.
func (p *Pool) tryAcquire(key string, n int64) bool {
	return !p.hasWaiter(key) && p.take(key, n)
}

// hasWaiter reports whether a request of the key waits; p.mu is held.
func (p *Pool) hasWaiter(key string) bool {
	for e := p.waiting.Front(); e != nil; e = e.Next() {
		if e.Value.(*waiter).key == key {
			return true
		}
	}
	return false
}

// take takes units if the rule allows that; p.mu is held.
func (p *Pool) take(key string, n int64) bool {
	if !p.rule(p.byKey[key], p.total, n) {
		return false
	}
	p.add(key, n)
	return true
}

func (p *Pool) release(key string, n int64) {
	if n != 0 {
		p.add(key, -n)
		p.serve()
	}
}

// add changes what a key has; p.mu is held.
func (p *Pool) add(key string, n int64) {
	p.total += n
	if p.byKey[key] += n; p.byKey[key] == 0 {
		delete(p.byKey, key)
	}
}

// serve gives waiting requests their parts, in the order of arrival within each key; p.mu is held.
func (p *Pool) serve() {
	behind := map[string]bool{}
	var next *list.Element
	for e := p.waiting.Front(); e != nil; e = next {
		next = e.Next()
		w := e.Value.(*waiter)
		if behind[w.key] || !p.take(w.key, w.n) {
			behind[w.key] = true
			continue
		}
		p.waiting.Remove(e)
		close(w.granted)
	}
}
