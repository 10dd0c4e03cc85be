package worker

import (
	"context"
	"sync"
)

// Weight is how many slots of an agent a run with so many tests counts as. An agent runs the tests of a run on all of
// its slots. If it refuses another run meanwhile, it keeps the next free slot for that run, which stays idle until
// the run is sent again. Two runs at the same time on two slots therefore took six times as long as one after the
// other. On more than four slots two runs share them, because the last tests of one leave slots free.
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
