package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/gateway/queue"
)

// placeWait is how long a request waits for a place for its body or file. Who sends as fast as
// he can has left one by then.
const placeWait = time.Second

// errGone is of a request whose connection was given to another while it waited.
var errGone = errors.New("the connection was closed for another")

// place is had while a request's body comes.
func (g *Gateway) place(r *http.Request) (leave func(), err error) {
	if r.ContentLength == 0 {
		return func() {}, nil
	}
	return g.passage(r)
}

// passage is had while a request's body comes, or a session's file goes to its reader, for
// which each has two minutes: meanwhile it has a connection, and one of the agent's where
// it is passed on. No key must have all of them, and no bound of addresses helps where a
// proxy's is everybody's (API-02).
func (g *Gateway) passage(r *http.Request) (leave func(), err error) {
	who, what := queue.Who{}, "requests"
	if c := callerOf(r.Context()); c.Name != "" {
		who.Key, who.Most = c.Name, c.Bodies
		if who.Most == 0 {
			who.Most = max(g.cfg.MaxBodies/8, 1)
		}
	}
	if turn := g.coming.TryTake(who); turn != nil {
		return turn.Release, nil
	}
	wait, enough := context.WithTimeout(r.Context(), placeWait)
	defer enough()
	mayGo(r)
	turn, err := g.coming.Take(wait, who)
	if stay(r) != nil {
		err = errGone
	}
	switch {
	case err == nil:
		return turn.Release, nil
	case turn != nil:
		turn.Release()
		return nil, err
	case errors.Is(err, errGone):
		return nil, err
	case r.Context().Err() != nil:
		return nil, r.Context().Err()
	}
	most, cure := g.cfg.MaxBodies, "have the operator raise --max-bodies"
	if who.Most > 0 && g.coming.Had(who.Key) >= who.Most {
		most, what, cure = who.Most, "requests of this key", "have the operator set bodies on it"
	}
	return nil, problem(http.StatusTooManyRequests, api.Fail(api.CodeBodiesFull, "the bodies or files of %d %s are still on their way, and no more may be at a time: send it again later, send and read faster, or %s", most, what, cure))
}
