package worker

import (
	"context"
	"sync"
)

// Weight is how many of an agent's slots a run with so many tests is counted as. An agent runs the tests of a run on
// all of its slots. One that refuses a further run, because none is free, then keeps the next slot for it: on
// few slots, runs that get in each other's way so take six times as long as one after the other. On many slots
// two runs at once use those that the last tests of one leave.
func Weight(tests, slots int) int {
	n := min(max(tests, 1), max(slots, 1))
	if slots > 4 && n > 1 {
		return (n + 1) / 2
	}
	return n
}

// slots are those of an agent, as tokens.
type slots struct {
	tokens chan struct{}
	turn   sync.Mutex // held by the run that collects its tokens: two that have half of theirs would wait for ever
}

// take takes n tokens, in the order of the calls. give gives them back.
func (s *slots) take(ctx context.Context, n int) (give func(), err error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	taken := 0
	give = func() {
		for range taken {
			<-s.tokens
		}
	}
	for range n {
		select {
		case s.tokens <- struct{}{}:
			taken++
		case <-ctx.Done():
			give()
			return nil, context.Cause(ctx)
		}
	}
	return give, nil
}
