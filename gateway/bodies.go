package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/gateway/queue"
)

const (
	bigBody  = 64 << 10 // a smaller one is bounded by the places in the queue
	bodyStep = 1 << 20  // of room, for a larger one
	bodies   = 4        // as many of the largest fit into memory
)

// bodyWait is how long a body that is partly here waits for more room. Those it waits
// for may wait for it.
const bodyWait = 5 * time.Second

// readBody reads a request's body whole. There is room for only so many bytes of large
// ones, from their reading until the caller calls release, which is when the run has
// ended: many callers together must not fill the memory, not even while they wait.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request) (raw []byte, release func(), err error) {
	most := int64(g.cfg.MaxBody)
	switch {
	case r.Header.Get("Content-Encoding") != "":
		return nil, nil, problem(http.StatusUnsupportedMediaType, api.Refuse(api.CodeBadRequest, "a compressed body is not taken: send plain JSON"))
	case r.ContentLength > most:
		return nil, nil, tooLarge(g.cfg.MaxBody)
	}
	leave, err := g.place(r)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	key := callerOf(r.Context()).Name
	if !g.cfg.Keys.several() {
		key = "" // nobody else wants room
	}
	body := &roomyBody{g: g, ctx: r.Context(), key: key, in: http.MaxBytesReader(w, r.Body, most)}
	raw, err = io.ReadAll(body)
	keep := min(body.room, body.cost.total)
	if err != nil {
		keep = 0
	}
	g.room.release(key, body.room-keep)
	var over *http.MaxBytesError
	var own *api.Problem
	switch {
	case errors.As(err, &over):
		return nil, nil, tooLarge(g.cfg.MaxBody)
	case errors.As(err, &own), errors.Is(err, context.Canceled):
		return nil, nil, err
	case err != nil:
		return nil, nil, api.Refuse(api.CodeBadRequest, "the request broke off: %w", err)
	}
	return raw, sync.OnceFunc(func() { g.room.release(key, keep) }), nil
}

// bodyRoom is the memory for large bodies: of one key they have half of it at most, as its
// programs decide how long they have it (API-15).
type bodyRoom struct {
	most int64
	all  *semaphore.Weighted

	mu sync.Mutex
	of map[string]*semaphore.Weighted // guarded by mu; by key
}

func newBodyRoom(most int64) *bodyRoom {
	return &bodyRoom{most: most, all: semaphore.NewWeighted(most), of: map[string]*semaphore.Weighted{}}
}

// share is a key's; without one it is all there is.
func (b *bodyRoom) share(key string) *semaphore.Weighted {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.of[key]
	if s == nil {
		s = semaphore.NewWeighted(b.mostOf(key))
		b.of[key] = s
	}
	return s
}

func (b *bodyRoom) mostOf(key string) int64 {
	if key == "" {
		return b.most
	}
	return b.most / 2
}

func (b *bodyRoom) acquire(ctx context.Context, key string, n int64) error {
	own := b.share(key)
	if err := own.Acquire(ctx, n); err != nil {
		return err
	}
	err := b.all.Acquire(ctx, n)
	if err != nil {
		own.Release(n)
	}
	return err
}

func (b *bodyRoom) release(key string, n int64) {
	b.all.Release(n)
	b.share(key).Release(n)
}

// A roomyBody takes room for a body as it comes, whatever was said of its length: who
// sends little must not have much (API-02).
type roomyBody struct {
	g    *Gateway
	ctx  context.Context
	key  string
	in   io.Reader
	cost bodyCost // of what came
	room int64    // that is had; none as long as the body may be small
}

func (b *roomyBody) Read(p []byte) (int, error) {
	if b.cost.total == b.has() {
		if err := b.grow(); err != nil {
			return 0, err
		}
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.has()-b.cost.total)])
	b.cost.add(p[:n])
	if b.cost.total > b.has() { // what it says is not there yet
		if err := b.grow(); err != nil {
			return 0, err
		}
	}
	return n, err
}

// has is how much the body may come to without more room.
func (b *roomyBody) has() int64 { return max(bigBody, b.room) }

// grow waits for room for a step more, or for all that is needed, and for what came without
// any. That of the first is waited for as a turn is.
func (b *roomyBody) grow() error {
	if most := b.g.room.mostOf(b.key); b.cost.total > most {
		return problem(http.StatusRequestEntityTooLarge, api.Refuse(api.CodeTooLarge, "the request comes to more than %s in memory, with what its lists and objects take beside their texts, and there is no more for large requests of one caller: send fewer entries in one request, or have the operator raise --max-body", api.Size(most)))
	}
	patience := min(bodyWait, b.g.cfg.Wait)
	if b.room == 0 {
		patience = b.g.cfg.Wait
	}
	more := max(b.cost.total, b.has()+min(b.has(), bodyStep)) - b.room
	wait, enough := context.WithTimeout(b.ctx, patience)
	defer enough()
	if err := b.g.room.acquire(wait, b.key, more); err != nil {
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		return problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy, "other large requests fill the memory that is set aside for them: send it again later, or send large inputs as blobs"))
	}
	b.room += more
	return nil
}

// parsed is what a body says. All but small ones are parsed one at a time, because each is in
// memory several times meanwhile, and takes the processor that all requests share: 16 of one
// key's made others wait for seconds. Keys take turns.
func parsed[T any](g *Gateway, ctx context.Context, raw []byte, parse func([]byte) (T, error)) (v T, err error) {
	if len(raw) > bigBody {
		turn, err := g.parsing.Take(ctx, queue.Who{Key: callerOf(ctx).Name})
		if err != nil {
			return v, err
		}
		defer turn.Release()
	}
	return parse(raw)
}

// parsedAs is parsed by api.Parse.
func parsedAs[T any](g *Gateway, ctx context.Context, raw []byte, what string) (T, error) {
	return parsed(g, ctx, raw, func(raw []byte) (T, error) { return api.Parse[T](raw, what) })
}

func tooLarge(most api.Size) error {
	return api.Refuse(api.CodeTooLarge, "the request is larger than the %s this service takes: send large inputs as blobs, or have the operator raise --max-body", most)
}
