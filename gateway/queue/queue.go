// Package queue gives callers their turns: at most so many at a time, the others
// in a queue of bounded length, which is fair between keys, and between the
// projects of a key. It is the only place in brig where anybody waits for a slot
// that others have.
package queue

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

// Who wants a turn. Keys take turns; within a key, its projects do; within a
// project, who came first is first.
type Who struct {
	Key     string
	Project string
	Most    int // turns the key may have at a time; zero: no bound but the queue's own
	Waiting int // of the key's that may wait; zero: no bound but the queue's own
}

// Full says which bound keeps a caller from waiting.
type Full struct {
	Bound   string // "queue", or "key" where it is the key's own
	Most    int    // of that bound
	Waiting int    // now
}

func (f *Full) Error() string {
	if f.Most == 0 {
		return "every slot is taken, and none may wait for one"
	}
	if f.Bound == "key" {
		return fmt.Sprintf("the queue is full: %d requests of this key wait, and %d may", f.Waiting, f.Most)
	}
	return fmt.Sprintf("the queue is full: %d requests wait, and %d may", f.Waiting, f.Most)
}

// A Queue is safe for use by many goroutines.
type Queue struct {
	most int // that may wait

	mu      sync.Mutex
	turns   int              // guarded by mu; that may be had at a time
	had     int              // guarded by mu
	lent    int              // guarded by mu; of those had, that others may have as well
	waiting int              // guarded by mu
	lanes   map[string]*lane // guarded by mu; of keys that have or want turns
	order   list.List        // guarded by mu; of *lane that somebody waits in, the next first
}

// A lane is what a key has and wants.
type lane struct {
	key      string
	most     int
	had      int
	lent     int
	waiting  int
	projects map[string]*project
	order    list.List     // of *project, the next first
	place    *list.Element // in Queue.order; nil: nobody waits
}

type project struct {
	name  string
	wait  list.List // of *waiter
	place *list.Element
}

type waiter struct {
	ready chan struct{} // closed when it has its turn
	place *list.Element // in its project; nil: it has its turn
}

// New makes a queue of so many turns at a time, and places to wait. Without
// places, whoever cannot have a turn at once is refused.
func New(turns, places int) *Queue {
	return &Queue{turns: turns, most: places, lanes: map[string]*lane{}}
}

// A Turn is had until it is released.
type Turn struct {
	Waited time.Duration

	q    *Queue
	lane *lane
	over bool // guarded by q.mu
	lent bool // guarded by q.mu
}

// Take waits for a turn. The error is a *Full, or the context's.
func (q *Queue) Take(ctx context.Context, who Who) (*Turn, error) {
	begun := time.Now()
	q.mu.Lock()
	l := q.lane(who)
	if t := q.atOnce(l); t != nil {
		q.mu.Unlock()
		return t, nil
	}
	w, err := q.join(l, who)
	q.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case <-w.ready:
		return &Turn{Waited: time.Since(begun), q: q, lane: l}, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.place == nil { // its turn came in the same moment: the next one's now
		q.give(l)
		return nil, ctx.Err()
	}
	p := l.projects[who.Project]
	p.wait.Remove(w.place)
	q.left(l, p)
	q.forget(l)
	return nil, ctx.Err()
}

// TryTake takes a turn that is to be had at once; nil: there is none.
func (q *Queue) TryTake(who Who) *Turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lane(who)
	defer q.forget(l)
	return q.atOnce(l)
}

func (q *Queue) atOnce(l *lane) *Turn {
	if !q.spare() || !q.may(l) || l.waiting > 0 {
		return nil
	}
	q.had++
	l.had++
	return &Turn{q: q, lane: l}
}

// Refuses is the error that Take would give at once; nil if there is a turn, or a
// place to wait for one.
func (q *Queue) Refuses(who Who) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lane(who)
	defer q.forget(l)
	if q.spare() && q.may(l) && l.waiting == 0 {
		return nil
	}
	return q.full(l, who)
}

// lane finds or makes the key's.
func (q *Queue) lane(who Who) *lane {
	l := q.lanes[who.Key]
	if l == nil {
		l = &lane{key: who.Key, projects: map[string]*project{}}
		q.lanes[who.Key] = l
	}
	l.most = who.Most
	return l
}

// spare reports whether there is a turn that nobody has, or that is lent.
func (q *Queue) spare() bool { return q.had-q.lent < q.turns }

// may reports whether a key may have one more: one that has lent as many as there are would
// else have ever more.
func (q *Queue) may(l *lane) bool {
	return (l.most == 0 || l.had < l.most) && l.lent < q.turns
}

// full says which bound keeps a caller from waiting, if one does. A full queue still has a
// place for a key that has none in it, as often as it has places: one that fills it would
// else keep all others out, whose turn comes before most of its own.
func (q *Queue) full(l *lane, who Who) error {
	switch {
	case q.waiting >= q.most && (l.waiting > 0 || q.waiting >= 2*q.most):
		return &Full{Bound: "queue", Most: q.most, Waiting: q.waiting}
	case who.Waiting > 0 && l.waiting >= who.Waiting:
		return &Full{Bound: "key", Most: who.Waiting, Waiting: l.waiting}
	}
	return nil
}

// join puts a waiter at the end of its project.
func (q *Queue) join(l *lane, who Who) (*waiter, error) {
	if err := q.full(l, who); err != nil {
		q.forget(l)
		return nil, err
	}
	p := l.projects[who.Project]
	if p == nil {
		p = &project{name: who.Project}
		p.place = l.order.PushBack(p)
		l.projects[who.Project] = p
	}
	w := &waiter{ready: make(chan struct{})}
	w.place = p.wait.PushBack(w)
	if l.place == nil {
		l.place = q.order.PushBack(l)
	}
	l.waiting++
	q.waiting++
	return w, nil
}

// left notes that one of the project's no longer waits.
func (q *Queue) left(l *lane, p *project) {
	l.waiting--
	q.waiting--
	if p.wait.Len() == 0 {
		l.order.Remove(p.place)
		delete(l.projects, p.name)
	}
	if l.waiting == 0 {
		q.order.Remove(l.place)
		l.place = nil
	}
}

// forget drops a lane that nobody uses.
func (q *Queue) forget(l *lane) {
	if l.had == 0 && l.waiting == 0 && q.lanes[l.key] == l {
		delete(q.lanes, l.key)
	}
}

// give takes a turn back and lets those have theirs who may now.
func (q *Queue) give(l *lane) {
	q.had--
	l.had--
	q.forget(l)
	q.serve()
}

// serve gives turns while there are any.
func (q *Queue) serve() {
	for q.spare() {
		e := q.order.Front()
		for e != nil && !q.may(e.Value.(*lane)) {
			e = e.Next()
		}
		if e == nil {
			return
		}
		l := e.Value.(*lane)
		p := l.order.Front().Value.(*project)
		w := p.wait.Remove(p.wait.Front()).(*waiter)
		w.place = nil
		q.order.MoveToBack(e)
		l.order.MoveToBack(p.place)
		q.left(l, p)
		l.had++
		q.had++
		close(w.ready)
	}
}

// Lend lets others have the turn as well, while it still counts as its key's. It is for
// one who goes on for long and shares elsewhere what the turn is to.
func (t *Turn) Lend() {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	if t.over || t.lent {
		return
	}
	t.lent = true
	t.q.lent++
	t.lane.lent++
	t.q.serve()
}

// Release gives the turn back; more than once is once.
func (t *Turn) Release() {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	if t.lent {
		t.q.lent--
		t.lane.lent--
	}
	t.q.give(t.lane)
}

// Resize changes how many turns may be had at a time.
func (q *Queue) Resize(turns int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns = turns
	q.serve()
}

// Had is how many turns a key has.
func (q *Queue) Had(key string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lanes[key]; l != nil {
		return l.had
	}
	return 0
}

// Stats are of one moment.
type Stats struct {
	Turns, Had, Waiting, Most int
}

// Stats tells what is had and wanted now.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{q.turns, q.had, q.waiting, q.most}
}
