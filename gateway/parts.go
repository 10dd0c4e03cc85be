package gateway

import (
	"bytes"
	"context"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// parts are a large stream as it came: joined it would be in memory twice meanwhile, and
// as a slice that grows thrice.
type parts struct {
	room func(int64) error
	all  []api.Bytes
	size int
}

// The sizes of the first part and of later ones.
const (
	firstPart = 64 << 10
	laterPart = 1 << 20
)

func (p *parts) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		last := len(p.all) - 1
		if last < 0 || len(p.all[last]) == cap(p.all[last]) {
			next := min(max(p.size, firstPart), laterPart)
			if err := p.room(int64(next)); err != nil {
				return n - len(b), err
			}
			p.all = append(p.all, make(api.Bytes, 0, next))
			continue
		}
		fits := min(len(b), cap(p.all[last])-len(p.all[last]))
		p.all[last] = append(p.all[last], b[:fits]...)
		p.size, b = p.size+fits, b[fits:]
	}
	return n, nil
}

// gistEnd is more than the history keeps of a stream, and a diagnosis looks at, of its
// start, or of its end.
const gistEnd = 128 << 10

// gist is the start and the end of a stream, or all of it.
func (p *parts) gist() api.Bytes {
	if p.size <= 2*gistEnd {
		return bytes.Join(asSlices(p.all), nil)
	}
	var start, end api.Bytes
	at := 0
	for _, b := range p.all {
		start = append(start, b[:min(len(b), gistEnd-len(start))]...)
		if from := max(p.size-gistEnd-at, 0); from < len(b) {
			end = append(end, b[from:]...)
		}
		at += len(b)
	}
	return append(start, end...)
}

func asSlices(all []api.Bytes) (out [][]byte) {
	for _, b := range all {
		out = append(out, b)
	}
	return out
}

// A large is the output of a run that may have much, and its room.
type large struct {
	out, errs parts
	room      room
}

// answer is the result with all of the output, and how much of it has room.
func (l *large) answer(res api.Result) (v any, had int64) {
	if l == nil {
		return res, 0
	}
	return api.Parted{Result: res, Out: l.out.all, Err: l.errs.all}, int64(l.out.size + l.errs.size)
}

func (l *large) leave() {
	if l != nil {
		l.room.leave()
	}
}

// A room is what an answer takes of the answers' while it comes.
type room struct {
	of       *answers
	key      string
	n, taken int64
}

// grow takes room for more. Who waits for it holds the program back, so he waits a little,
// and then the run has failed: two that wait for each other would wait for ever.
func (r *room) grow(ctx context.Context, more int64) error {
	r.n += more
	if short := r.n - r.taken; r.n > bigAnswer && short > 0 {
		try := func() bool {
			r.of.mu.Lock()
			defer r.of.mu.Unlock()
			return r.of.claim(r.key, short)
		}
		if !r.of.patiently(ctx, 0, try) {
			r.n -= more
			return problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy, "large answers that are being made, or that clients have not read yet, fill the memory that is set aside for them: the run was ended; read those, and send it again later, or with a smaller output"))
		}
		r.taken += short
	}
	return nil
}

// try is grow for who does without.
func (r *room) try(more int64) bool {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if !r.of.claim(r.key, more) {
		return false
	}
	r.n, r.taken = r.n+more, r.taken+more
	return true
}

// shrink gives back what is over n bytes.
func (r *room) shrink(n int64) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if over := r.taken - n; over > 0 {
		r.of.free(r.key, over)
		r.taken -= over
	}
	r.n = min(r.n, n)
}

func (r *room) leave() {
	if r == nil {
		return
	}
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.of.free(r.key, r.taken)
	r.n, r.taken = 0, 0
}
