package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// execLimit limits the execs of each session that are in the queue or under way. The agent executes no
// more concurrently: a further one would occupy a slot in the queue while it waits, and keep it
// from all callers that have other work (API-15).
type execLimit struct {
	mu        sync.Mutex
	bySession map[string]int // guarded by mu; by session
}

func (s *execLimit) acquire(session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bySession[session] >= api.SessionExecs {
		return api.Fail(api.CodeSessionBusy, "%d execs of this session are running or waiting, and that is the most: send it again when one has ended", api.SessionExecs)
	}
	if s.bySession == nil {
		s.bySession = map[string]int{}
	}
	s.bySession[session]++
	return nil
}

func (s *execLimit) release(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bySession[session]--; s.bySession[session] == 0 {
		delete(s.bySession, session)
	}
}

// sessions returns the sessions that have an exec in the queue or under way.
func (s *execLimit) sessions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.bySession))
}

// dispatchExec dispatches an exec. It frees the exec's place before the caller gets the result, so
// that the caller's next exec finds it free.
func (g *Gateway) dispatchExec(ctx context.Context, o *runRequest) (api.Result, error) {
	if err := g.execs.acquire(o.session); err != nil {
		return api.Result{}, err
	}
	defer g.execs.release(o.session)
	return g.dispatch(ctx, o)
}
