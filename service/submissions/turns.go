package submissions

import "context"

// turns let so many submissions of a key into the queue, in the order in which they came.
type turns struct {
	places chan struct{}
	users  int // that have a place, or wait for one; guarded by the mu of Submissions
	free   func()
}

// turn returns the turns of a key, for one use.
func (s *Submissions) turn(key string, places int) *turns {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turns[key]
	if t == nil {
		t = &turns{places: make(chan struct{}, places)}
		t.free = func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if t.users--; t.users == 0 {
				delete(s.turns, key)
			}
		}
		s.turns[key] = t
	}
	t.users++
	return t
}

// take waits for a place. leave must be called at its end.
func (t *turns) take(ctx context.Context) (leave func(), err error) {
	select {
	case t.places <- struct{}{}:
		return func() { <-t.places; t.free() }, nil
	case <-ctx.Done():
		t.free()
		return nil, ctx.Err()
	}
}
