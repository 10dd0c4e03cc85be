package worker

import (
	"context"
	"slices"
	"sync"
)

// slots are the slots of an agent. Urgent jobs take them before others do.
type slots struct {
	mu     sync.Mutex
	all    int
	free   int             // guarded by mu
	urgent []chan struct{} // guarded by mu; urgent jobs that wait, the first one first
	others []chan struct{} // guarded by mu; as urgent, the other jobs
	soon   int             // guarded by mu; slots that urgent jobs may need in a moment
}

func (s *slots) open(all int) { s.all, s.free = all, all }

// A ticket is what one loop takes slots with, one at a time. One goroutine uses it.
type ticket struct {
	of     *slots
	urgent bool
	soon   int // its part of of.soon
}

// take waits for a slot and takes it. Jobs that are not urgent leave one for each urgent job that waits or may come in
// a moment.
func (t *ticket) take(ctx context.Context) error {
	ready := make(chan struct{})
	s := t.of
	s.mu.Lock()
	t.notSoon()
	waiting := t.queue()
	*waiting = append(*waiting, ready)
	s.grant()
	s.mu.Unlock()

	select {
	case <-ready:
		return nil
	case <-ctx.Done():
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if i := slices.Index(*waiting, ready); i >= 0 {
		*waiting = slices.Delete(*waiting, i, i+1)
	} else { // it was granted at the same moment
		s.free++
	}

	s.grant()
	return context.Cause(ctx)
}

// give gives the slot back. That of an urgent job stays free for the loop's next one, until take or rest. If the agent
// was busy, all slots do: other jobs would have what room the agent has before the urgent one asks again.
func (t *ticket) give(busy bool) {
	s := t.of
	s.mu.Lock()
	defer s.mu.Unlock()

	s.free++
	t.notSoon()
	if t.urgent {
		t.soon = 1
		if busy {
			t.soon = s.all
		}
		s.soon += t.soon
	}

	s.grant()
}

// rest says that the loop has no job in a moment.
func (t *ticket) rest() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.notSoon()
	t.of.grant()
}

// notSoon is rest; of.mu is held.
func (t *ticket) notSoon() {
	t.of.soon -= t.soon
	t.soon = 0
}

func (t *ticket) queue() *[]chan struct{} {
	if t.urgent {
		return &t.of.urgent
	}
	return &t.of.others
}

// grant gives free slots to those who wait; mu is held.
func (s *slots) grant() {
	for s.free > 0 && len(s.urgent) > 0 {
		close(s.urgent[0])
		s.urgent = s.urgent[1:]
		s.free--
	}
	for s.free > s.soon && len(s.others) > 0 {
		close(s.others[0])
		s.others = s.others[1:]
		s.free--
	}
}
