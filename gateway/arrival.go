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
	thins bool // what finds no room is read all the same, and thinned: an answer by settle, a piece by whole
	tight bool // there was such an answer
	short bool // there was such a piece
	turn  bool // its turn to be read lasts until then

	json    int64 // bytes of the pieces that are kept
	piece   int64 // of the one that comes
	claimed int64 // room for it
}

func (g *Gateway) arrival(key string) *arrival {
	return &arrival{g: g, room: room{of: g.answers, key: key}}
}

// watch has the agent's answers to calls with the context ask for room.
func (a *arrival) watch(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, arrivalKey{}, a)
	return client.WithRoom(ctx, client.Room{
		Answer: func(n int64) (func(), error) { return a.answer(ctx, n) },
		Part:   func(n int64) error { return a.part(ctx, n) },
		Whole:  a.whole,
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
		return nil, tooMuch(n, most)
	}
	err = a.room.grow(ctx, n)
	if err != nil && (!a.thins || ctx.Err() != nil) {
		return nil, err
	}
	a.tight = err != nil
	if err := a.takeTurn(ctx); err != nil {
		return nil, err
	}
	if a.tight { // in memory without room: nobody else reads before most of it has gone
		a.turn = true
		return func() {}, nil
	}
	return func() { <-a.g.reading }, nil
}

func (a *arrival) takeTurn(ctx context.Context) error {
	select {
	case a.g.reading <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// part finds room for so many bytes more of a piece, once as JSON and once as a value. The
// tests of a run are one piece each: one that finds none is thinned, so that no submission
// decides by its output that there is an error instead of its verdict.
func (a *arrival) part(ctx context.Context, n int64) error {
	if !a.thins {
		return a.room.grow(ctx, 2*n)
	}
	most := a.room.of.most / 4
	a.piece += n
	switch {
	case a.turn && a.piece > most:
		return tooMuch(a.piece, most)
	case a.turn:
		return nil
	case a.json+a.piece <= most && a.fits(ctx, 2*n):
		a.claimed += 2 * n
		return nil
	}
	a.short = true
	err := a.takeTurn(ctx)
	a.turn = err == nil
	return err
}

// fits takes room for n bytes. Only the first that finds none waits for it.
func (a *arrival) fits(ctx context.Context, n int64) bool {
	if a.short {
		return a.room.try(n)
	}
	return a.room.grow(ctx, n) == nil
}

// whole ends a piece: it is a value now, thinned where there was no room for it.
func (a *arrival) whole(v any) {
	keep := a.piece
	if a.turn {
		thin(v)
		keep = 0
		<-a.g.reading
		a.turn = false
	}
	if a.thins {
		a.room.shrink(a.room.n - a.claimed + keep)
	}
	a.json, a.piece, a.claimed = a.json+keep, 0, 0
}

func tooMuch(n, most int64) error {
	return problem(http.StatusRequestEntityTooLarge, api.Refuse(api.CodeTooLarge, "the answer is %s as JSON, and this service carries %s in one: have less output, files or tests come back, or take output as events", api.Size(n), api.Size(most)))
}

// keepsHistory has what finds no room be read all the same, as it is of a run whose end the
// history is to have.
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

// thin leaves of a result, or a part of one, what the history keeps, and a diagnosis looks
// at. What is left out is marked.
func thin(v any) {
	switch v := v.(type) {
	case *api.Result:
		thinStream(&v.Stdout, &v.StdoutTruncated, gistEnd)
		thinStream(&v.Stderr, &v.StderrTruncated, gistEnd)
		thinFiles(v)
		if v.Compile != nil {
			thin(v.Compile)
		}
		for i := range v.Tests {
			thin(&v.Tests[i])
		}
	case *api.Compilation:
		thinStream(&v.Stdout, &v.StdoutTruncated, gistEnd)
		thinStream(&v.Stderr, &v.StderrTruncated, gistEnd)
	case *api.TestResult:
		one := &v.Result
		v.Cut = v.Cut || len(one.Stdout)+len(one.Stderr) > 0
		thinStream(&one.Stdout, &one.StdoutTruncated, 0)
		thinStream(&one.Stderr, &one.StderrTruncated, 0)
		thinFiles(one)
	}
}

// thinStream leaves so many bytes of a stream's start, and of its end.
func thinStream(b *api.Bytes, cut *bool, end int) {
	if len(*b) > 2*end {
		*b, *cut = append(append(api.Bytes(nil), (*b)[:end]...), (*b)[len(*b)-end:]...), true
	}
}

func thinFiles(r *api.Result) {
	for _, f := range r.Files {
		r.Skipped = append(r.Skipped, api.Skipped{Name: f.Name, Reason: "the service had no room for it in the answer"})
	}
	r.Files = nil
}
