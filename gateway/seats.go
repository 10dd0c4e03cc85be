package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// seats bound the execs of each session that are in the queue or under way. The agent
// carries out no more at a time: one more would keep a turn, while it waits, from all
// who have other work (API-15).
type seats struct {
	mu    sync.Mutex
	taken map[string]int // guarded by mu; by session
}

func (s *seats) take(session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[session] >= api.SessionExecs {
		return api.Fail(api.CodeSessionBusy, "%d execs of this session are under way or waiting, and that is the most: send it again when one has ended", api.SessionExecs)
	}
	if s.taken == nil {
		s.taken = map[string]int{}
	}
	s.taken[session]++
	return nil
}

func (s *seats) leave(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[session]--; s.taken[session] == 0 {
		delete(s.taken, session)
	}
}

// sessions are those with an exec in the queue or under way.
func (s *seats) sessions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.taken))
}

// carryExec is carry for an exec. Its seat is free before anybody is told the result:
// who sends the next one then finds it so.
func (g *Gateway) carryExec(ctx context.Context, o *order) (api.Result, error) {
	if err := g.seats.take(o.session); err != nil {
		return api.Result{}, err
	}
	defer g.seats.leave(o.session)
	return g.carry(ctx, o)
}
