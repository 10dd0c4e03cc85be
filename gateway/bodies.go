package gateway

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

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
	still := watchPace(w)
	body := &roomyBody{g: g, pace: still, ctx: r.Context(), key: key, in: http.MaxBytesReader(w, r.Body, most)}
	raw, err = io.ReadAll(body)
	if still.rest(); err == nil && still.stood() {
		err = os.ErrDeadlineExceeded
	}
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
	case still.stood():
		return nil, nil, problem(http.StatusRequestTimeout, api.Fail(api.CodeBadRequest, "the request stood still: of a large one at least %s must come in %v, as it keeps memory that others wait for: send it again, or send large inputs as blobs", api.Size(leastComes), stillFor))
	case errors.As(err, &own), errors.Is(err, context.Canceled):
		return nil, nil, err
	case err != nil:
		return nil, nil, api.Refuse(api.CodeBadRequest, "the request broke off: %w", err)
	}
	return raw, sync.OnceFunc(func() { g.room.release(key, keep) }), nil
}

// bodyRoom is the memory for large bodies. Programs decide how long they have it, so that keys
// leave some to who has none yet (API-15).
type bodyRoom struct {
	most int64

	mu      sync.Mutex
	all     int64            // guarded by mu
	of      map[string]int64 // guarded by mu; by key
	waiting list.List        // guarded by mu; of *bodyWaiter, the longest first
}

// A bodyWaiter is a request for room that was not there. met is closed when it is had.
type bodyWaiter struct {
	key string
	n   int64
	met chan struct{}
}

func newBodyRoom(most int64) *bodyRoom {
	return &bodyRoom{most: most, of: map[string]int64{}}
}

// mostOf is what a key may have where nobody else has anything. Without a name it is the only
// caller, and has all there is.
func (b *bodyRoom) mostOf(key string) int64 {
	if key == "" {
		return b.most
	}
	return mostOfOne(b.most)
}

// take takes room where there is some; b.mu is held.
func (b *bodyRoom) take(key string, n int64) bool {
	if key == "" && b.all+n > b.most || key != "" && !fits(b.of[key], b.all, n, b.most) {
		return false
	}
	b.all += n
	b.of[key] += n
	return true
}

// acquire waits for room. Of a key, who came first has it first.
func (b *bodyRoom) acquire(ctx context.Context, key string, n int64) error {
	b.mu.Lock()
	if !b.waits(key) && b.take(key, n) {
		b.mu.Unlock()
		return nil
	}
	w := &bodyWaiter{key, n, make(chan struct{})}
	place := b.waiting.PushBack(w)
	b.mu.Unlock()
	select {
	case <-w.met:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.met: // at the same time
		return nil
	default:
	}
	b.waiting.Remove(place)
	b.serve() // those behind it may want less
	return ctx.Err()
}

// waits reports whether somebody of the key waits; b.mu is held.
func (b *bodyRoom) waits(key string) bool {
	for e := b.waiting.Front(); e != nil; e = e.Next() {
		if e.Value.(*bodyWaiter).key == key {
			return true
		}
	}
	return false
}

func (b *bodyRoom) release(key string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all -= n
	if b.of[key] -= n; b.of[key] == 0 {
		delete(b.of, key)
	}
	b.serve()
}

// serve gives room to who waits for it, of each key in their order; b.mu is held.
func (b *bodyRoom) serve() {
	behind := map[string]bool{}
	var next *list.Element
	for e := b.waiting.Front(); e != nil; e = next {
		next = e.Next()
		w := e.Value.(*bodyWaiter)
		if behind[w.key] || !b.take(w.key, w.n) {
			behind[w.key] = true
			continue
		}
		b.waiting.Remove(e)
		close(w.met)
	}
}

// A roomyBody takes room for a body as it comes, whatever was said of its length: who
// sends little must not have much (API-02).
type roomyBody struct {
	g    *Gateway
	ctx  context.Context
	pace *pace
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
	b.pace.came(n)
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
	b.pace.rest()
	defer b.pace.begin()
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
