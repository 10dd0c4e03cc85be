// Package queue grants slots: up to a number of callers hold one, the others wait in a queue of
// limited length. The queue is fair between keys, and between the projects of a key. It is the only
// place in brig where a caller waits for a slot that others hold.
package queue

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

// Owner names the key and the project that a slot is for, with the limits of the key. The queue
// alternates between keys, within a key between its projects, and serves a project's requests in
// order of arrival.
type Owner struct {
	Key        string
	Project    string
	MaxSlots   int // slots that the key may hold; zero: limited only by the queue
	MaxWaiting int // requests of the key that may wait; zero: limited only by the queue

	// Background requests get a slot that no other request can have now, and all of them together at most
	// as many as SetBackground allows. They may all wait. They leave one slot of the key to its other requests,
	// if it may hold more than one.
	Background bool

	Request string // by which Ahead finds the request; empty: it does not
}

func (o Owner) lane() laneName { return laneName{o.Key, o.Background} }

// Full is the error of a caller that may not wait. It names the limit that was reached.
type Full struct {
	Bound   string // "queue", or "key" if it is the key's own limit
	Max     int    // the value of that limit
	Waiting int    // the number of requests that wait now
}

func (f *Full) Error() string {
	if f.Max == 0 {
		return "every slot is busy, and no request may wait for one"
	}
	if f.Bound == "key" {
		return fmt.Sprintf("the queue is full: %d requests of this key wait, and %d may wait", f.Waiting, f.Max)
	}
	return fmt.Sprintf("the queue is full: %d requests wait, and %d may wait", f.Waiting, f.Max)
}

// A Queue is safe for use by many goroutines.
type Queue struct {
	maxWaiting int // the number of requests that may wait

	mu       sync.Mutex
	slots    int                // guarded by mu; number of slots
	held     int                // guarded by mu
	lent     int                // guarded by mu; held slots that are lent, so that others may hold them in addition
	waiting  int                // guarded by mu; without those in the background
	lanes    map[laneName]*lane // guarded by mu; keys that hold or wait for slots
	keyOrder list.List          // guarded by mu; of *lane: keys with waiting requests, the next first

	maxBackground   int       // guarded by mu
	background      int       // guarded by mu; slots held in the background, also those that are lent
	backgroundOrder list.List // guarded by mu; as keyOrder
}

type laneName struct {
	key        string
	background bool
}

// A lane has the held slots and waiting requests of a key, those in the background or the others.
type lane struct {
	laneName
	maxSlots     int
	held         int
	lent         int
	waiting      int
	projects     map[string]*project
	projectOrder list.List     // of *project; the next first
	elem         *list.Element // in Queue.order; nil: no request waits
}

type project struct {
	name string
	wait list.List // of *waiter
	elem *list.Element
}

type waiter struct {
	ready chan struct{} // closed when it has its slot
	since time.Time
	name  string        // Owner.Request
	elem  *list.Element // in its project; nil: it has its slot
}

// New creates a queue with the given numbers of slots and of places to wait. Without places to
// wait, a caller that cannot get a slot at once is refused.
func New(slots, places int) *Queue {
	return &Queue{slots: slots, maxWaiting: places, lanes: map[laneName]*lane{}}
}

// A Slot is granted to one holder, which must call Release.
type Slot struct {
	Waited time.Duration

	q        *Queue
	lane     *lane
	released bool // guarded by q.mu
	lent     bool // guarded by q.mu
}

// Take waits for a slot. The error is a *Full, or the context's.
func (q *Queue) Take(ctx context.Context, owner Owner) (*Slot, error) {
	begun := time.Now()
	q.mu.Lock()
	l := q.lane(owner)
	if t := q.tryGrant(l); t != nil {
		q.mu.Unlock()
		return t, nil
	}

	w, err := q.join(l, owner)
	q.mu.Unlock()
	if err != nil {
		return nil, err
	}

	select {
	case <-w.ready:
		return &Slot{Waited: time.Since(begun), q: q, lane: l}, nil
	case <-ctx.Done():
	}

	q.mu.Lock()
	defer q.mu.Unlock()

	if w.elem == nil { // it got its slot in the same moment: pass the slot on
		q.takeBack(l)
		return nil, ctx.Err()
	}

	p := l.projects[owner.Project]
	p.wait.Remove(w.elem)
	q.stopWaiting(l, p)
	q.forget(l)
	return nil, ctx.Err()
}

// TryTake takes a slot without waiting; it returns nil if none is available.
func (q *Queue) TryTake(owner Owner) *Slot {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lane(owner)
	defer q.forget(l)
	return q.tryGrant(l)
}

func (q *Queue) tryGrant(l *lane) *Slot {
	if !q.hasFree() || !q.mayHold(l) || l.waiting > 0 {
		return nil
	}
	q.hold(l, 1)
	return &Slot{q: q, lane: l}
}

// hold changes the number of slots that a lane holds.
func (q *Queue) hold(l *lane, n int) {
	q.held += n
	l.held += n
	if l.background {
		q.background += n
	}
}

// Refuses returns the error that Take would return at once; nil if a slot or a place to wait for
// one is available.
func (q *Queue) Refuses(owner Owner) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lane(owner)
	defer q.forget(l)
	if q.hasFree() && q.mayHold(l) && l.waiting == 0 {
		return nil
	}
	return q.refusal(l, owner)
}

// lane finds or creates the lane of a key.
func (q *Queue) lane(owner Owner) *lane {
	l := q.lanes[owner.lane()]
	if l == nil {
		l = &lane{laneName: owner.lane(), projects: map[string]*project{}}
		q.lanes[owner.lane()] = l
	}
	l.maxSlots = owner.MaxSlots
	return l
}

// hasFree reports whether a slot is free or lent.
func (q *Queue) hasFree() bool { return q.held-q.lent < q.slots }

// mayHold reports whether a key may hold one more slot. A key that has lent as many slots as there are
// may not: it would otherwise hold more and more.
func (q *Queue) mayHold(l *lane) bool {
	maximum := l.maxSlots
	if l.background {
		if q.background >= q.maxBackground {
			return false
		}
		if maximum > 1 {
			maximum--
		}
	}
	return (maximum == 0 || q.heldBy(l.key) < maximum) && l.lent < q.slots
}

// heldBy is the number of slots that a key holds; q.mu is held.
func (q *Queue) heldBy(key string) (n int) {
	for _, background := range []bool{false, true} {
		if l := q.lanes[laneName{key, background}]; l != nil {
			n += l.held
		}
	}
	return n
}

// refusal returns an error if the caller may not wait. A full queue still accepts a request of a key
// that has none waiting, up to as many again as it has places: a key that fills the queue would
// otherwise keep out all others, which are due before most of its own requests.
func (q *Queue) refusal(l *lane, owner Owner) error {
	switch {
	case l.background:
		return nil
	case q.waiting >= q.maxWaiting && (l.waiting > 0 || q.waiting >= 2*q.maxWaiting):
		return &Full{Bound: "queue", Max: q.maxWaiting, Waiting: q.waiting}
	case owner.MaxWaiting > 0 && l.waiting >= owner.MaxWaiting:
		return &Full{Bound: "key", Max: owner.MaxWaiting, Waiting: l.waiting}
	}
	return nil
}

// join appends a waiter to its project.
func (q *Queue) join(l *lane, owner Owner) (*waiter, error) {
	if err := q.refusal(l, owner); err != nil {
		q.forget(l)
		return nil, err
	}

	p := l.projects[owner.Project]
	if p == nil {
		p = &project{name: owner.Project}
		p.elem = l.projectOrder.PushBack(p)
		l.projects[owner.Project] = p
	}

	w := &waiter{ready: make(chan struct{}), since: time.Now(), name: owner.Request}
	w.elem = p.wait.PushBack(w)
	if l.elem == nil {
		l.elem = q.order(l).PushBack(l)
	}

	q.countWaiting(l, 1)
	return w, nil
}

// order is the list of keys that a lane is in while requests of it wait.
func (q *Queue) order(l *lane) *list.List {
	if l.background {
		return &q.backgroundOrder
	}
	return &q.keyOrder
}

func (q *Queue) countWaiting(l *lane, n int) {
	l.waiting += n
	if !l.background {
		q.waiting += n
	}
}

// stopWaiting updates the counts when a request of the project no longer waits.
func (q *Queue) stopWaiting(l *lane, p *project) {
	q.countWaiting(l, -1)
	if p.wait.Len() == 0 {
		l.projectOrder.Remove(p.elem)
		delete(l.projects, p.name)
	}
	if l.waiting == 0 {
		q.order(l).Remove(l.elem)
		l.elem = nil
	}
}

// forget removes an unused lane.
func (q *Queue) forget(l *lane) {
	if l.held == 0 && l.waiting == 0 && q.lanes[l.laneName] == l {
		delete(q.lanes, l.laneName)
	}
}

// takeBack takes a slot back and grants slots to waiting requests.
func (q *Queue) takeBack(l *lane) {
	q.hold(l, -1)
	q.forget(l)
	q.serve()
}

// serve grants slots as long as there are any.
func (q *Queue) serve() {
	for q.hasFree() {
		e := q.next(&q.keyOrder)
		if e == nil {
			e = q.next(&q.backgroundOrder)
		}
		if e == nil {
			return
		}

		l := e.Value.(*lane)
		p := l.projectOrder.Front().Value.(*project)
		w := p.wait.Remove(p.wait.Front()).(*waiter)
		w.elem = nil
		q.order(l).MoveToBack(e)
		l.projectOrder.MoveToBack(p.elem)
		q.stopWaiting(l, p)
		q.hold(l, 1)
		close(w.ready)
	}
}

// next is the first lane of an order that may hold one more slot; nil: there is none.
func (q *Queue) next(order *list.List) *list.Element {
	for e := order.Front(); e != nil; e = e.Next() {
		if q.mayHold(e.Value.(*lane)) {
			return e
		}
	}
	return nil
}

// Lend makes the slot available to others as well, while it still counts as held by its key. It is
// for long requests that share the underlying resource in another way.
func (t *Slot) Lend() {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	if t.released || t.lent {
		return
	}
	t.lent = true
	t.q.lent++
	t.lane.lent++
	t.q.serve()
}

// Release returns the slot. Further calls do nothing.
func (t *Slot) Release() {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	if t.released {
		return
	}
	t.released = true
	if t.lent {
		t.q.lent--
		t.lane.lent--
	}
	t.q.takeBack(t.lane)
}

// Resize changes the number of slots.
func (q *Queue) Resize(slots int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.slots = slots
	q.serve()
}

// SetBackground changes how many slots all background requests may hold together. A new queue has none for them.
func (q *Queue) SetBackground(slots int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.maxBackground = slots
	q.serve()
}

// Held is the number of slots that a key holds.
func (q *Queue) Held(key string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.heldBy(key)
}

// Stats is a snapshot of a queue.
type Stats struct {
	Slots, Held, Waiting, MaxWaiting int
}

// Stats returns the current numbers.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{q.slots, q.held, q.waiting, q.maxWaiting}
}
