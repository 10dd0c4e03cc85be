package gateway

import (
	"context"
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/client"
)

// An arrival is what the agent answers to one request or run: it has room among the answers
// before it is read, until leave is called. While there is none it waits with the agent,
// whose own memory is bounded. It is for one goroutine at a time.
type arrival struct {
	g     *Gateway
	room  room
	thins bool // an answer without room is read all the same, and thinned by settle
	tight bool // there was one
	turn  bool // its turn to be read lasts until settle
}

func (g *Gateway) arrival(key string) *arrival {
	return &arrival{g: g, room: room{of: g.answers, key: key}}
}

// watch has the agent's answers to calls with the context ask for room.
func (a *arrival) watch(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, arrivalKey{}, a)
	return client.WithRoom(ctx, client.Room{
		Answer: func(n int64) (func(), error) { return a.answer(ctx, n) },
		Part: func(n int64) error { // once as JSON, once as a value
			return a.room.grow(ctx, 2*n)
		},
	})
}

type arrivalKey struct{}

func arrivalOf(ctx context.Context) *arrival {
	a, _ := ctx.Value(arrivalKey{}).(*arrival)
	return a
}

// answer finds room for an answer of n bytes, which as a value are no more. Large ones are
// read one at a time, because each is in memory twice meanwhile.
func (a *arrival) answer(ctx context.Context, n int64) (decoded func(), err error) {
	if n <= bigAnswer {
		return func() {}, nil
	}
	if most := a.room.of.most / 4; n > most {
		return nil, problem(http.StatusRequestEntityTooLarge, api.Refuse(api.CodeTooLarge, "the answer is %s as JSON, and this service carries %s in one: have less output, files or tests come back, or take output as events", api.Size(n), api.Size(most)))
	}
	err = a.room.grow(ctx, n)
	if err != nil && (!a.thins || ctx.Err() != nil) {
		return nil, err
	}
	a.tight = err != nil
	select {
	case a.g.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if a.tight { // in memory without room: nobody else reads before most of it has gone
		a.turn = true
		return func() {}, nil
	}
	return func() { <-a.g.reading }, nil
}

// keepsHistory has an answer without room be read all the same, until settle, as it is of a
// run whose end the history is to have.
func (a *arrival) keepsHistory() {
	if a != nil {
		a.thins = true
	}
}

// settle ends the reading of a run's result. One that found no room keeps what the history
// does.
func (a *arrival) settle(res *api.Result) {
	if a == nil || !a.turn {
		return
	}
	thin(res)
	<-a.g.reading
	a.turn = false
}

// holds has room for what there is of a result, and no more.
func (a *arrival) holds(res api.Result) { a.room.shrink(int64(res.Content())) }

// leave gives the room back.
func (a *arrival) leave() {
	if a != nil {
		a.room.leave()
	}
}

// thin leaves of a result what the history keeps, and a diagnosis looks at.
func thin(res *api.Result) {
	gist := func(b api.Bytes) api.Bytes {
		if len(b) <= 2*gistEnd {
			return b
		}
		return append(append(api.Bytes(nil), b[:gistEnd]...), b[len(b)-gistEnd:]...)
	}
	res.Stdout, res.Stderr, res.Files = gist(res.Stdout), gist(res.Stderr), nil
	for i := range res.Tests {
		one := &res.Tests[i].Result
		one.Stdout, one.Stderr, one.Files = nil, nil, nil
	}
}
