package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/gateway/queue"
)

// A reading is what a request reads much of.
type reading int

const (
	little   reading = iota
	pastRuns         // figures over 90,000 of them take a processor for most of a second, and 64 at a time made another key's run of 12 ms take up to 900
	boxFiles         // names that programs have chosen: 40 lists at a time took the agent both processors (AGT-43)
)

// turns are those of requests that read so, and what they are called.
func (g *Gateway) turns(one reading) (of *queue.Queue, called string) {
	if one == boxFiles {
		return g.lists, "lists of files"
	}
	return g.reads, "past runs and their figures"
}

// Bounds of the requests of one reading.
const (
	readsAtATime  = 2 // of all keys
	readsOfAKey   = 1
	readsWaiting  = 64
	readsKeyWaits = 16
)

// read waits until the caller may read: keys take turns. The request that it gives
// has the turn until leave is called, or its answer has been made, however long that takes to
// be sent: two keys that read no answer would keep the turns of all (API-15,
// TestUnreadAnswersKeepNoTurn).
func (g *Gateway) read(r *http.Request, one reading) (with *http.Request, leave func(), err error) {
	who := queue.Who{}
	if c := callerOf(r.Context()); c.Name != "" {
		who = queue.Who{Key: c.Name, Most: readsOfAKey, Waiting: readsKeyWaits}
	}
	turns, called := g.turns(one)
	turn, err := turns.Take(r.Context(), who)
	var full *queue.Full
	switch {
	case errors.As(err, &full):
		of := "requests"
		if full.Bound == "key" {
			of = "requests of this key"
		}
		return nil, nil, problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy, "%d %s for %s are waiting, and %d may: send it again later, and one after the other", full.Waiting, of, called, full.Most))
	case err != nil:
		return nil, nil, err
	}
	return r.WithContext(context.WithValue(r.Context(), readTurnKey{}, turn)), turn.Release, nil
}

type readTurnKey struct{}

// answerMade gives back the turn of a request that has read what it was to read, if it has one.
func answerMade(ctx context.Context) {
	if turn, has := ctx.Value(readTurnKey{}).(*queue.Turn); has {
		turn.Release()
	}
}
