package gateway

import (
	"bytes"
	"context"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// chunkBuffer buffers a large stream in chunks, which avoids the copies in memory of joining it (2x) or
// of a growing slice (3x).
type chunkBuffer struct {
	reserve func(int64) error
	chunks  []api.Bytes
	size    int
}

// The sizes of the first chunk and of later ones.
const (
	firstChunk = 64 << 10
	laterChunk = 1 << 20
)

func (p *chunkBuffer) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		last := len(p.chunks) - 1
		if last < 0 || len(p.chunks[last]) == cap(p.chunks[last]) {
			next := min(max(p.size, firstChunk), laterChunk)
			if err := p.reserve(int64(next)); err != nil {
				return n - len(b), err
			}
			p.chunks = append(p.chunks, make(api.Bytes, 0, next))
			continue
		}
		fits := min(len(b), cap(p.chunks[last])-len(p.chunks[last]))
		p.chunks[last] = append(p.chunks[last], b[:fits]...)
		p.size, b = p.size+fits, b[fits:]
	}
	return n, nil
}

// headTailSize is more than the history keeps, and a diagnosis reads, of the start or of the end of a
// stream.
const headTailSize = 128 << 10

// headTail returns the start and the end of a stream, or all of a short one.
func (p *chunkBuffer) headTail() api.Bytes {
	if p.size <= 2*headTailSize {
		return bytes.Join(asSlices(p.chunks), nil)
	}
	var start, end api.Bytes
	at := 0
	for _, b := range p.chunks {
		start = append(start, b[:min(len(b), headTailSize-len(start))]...)
		if from := max(p.size-headTailSize-at, 0); from < len(b) {
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

// A chunkedOutput is the output of a run that may write much, with its memory quota.
type chunkedOutput struct {
	out, errs   chunkBuffer
	reservation reservation
}

// response returns the result with the whole output, and how many bytes of it have quota already.
func (l *chunkedOutput) response(res api.Result) (v any, reserved int64) {
	if l == nil {
		return res, 0
	}
	return api.ChunkedResult{Result: res, Out: l.out.chunks, Err: l.errs.chunks}, int64(l.out.size + l.errs.size)
}

func (l *chunkedOutput) release() {
	if l != nil {
		l.reservation.release()
	}
}

// A reservation is the reservation of response memory for one response while it arrives.
type reservation struct {
	quota      *responseQuota
	key        string
	n, claimed int64
}

// grow reserves more memory. Waiting stops the program meanwhile, so grow waits only briefly, and
// then the run fails: two runs that wait for each other would wait forever.
func (r *reservation) grow(ctx context.Context, more int64) error {
	r.n += more
	if short := r.n - r.claimed; r.n > largeResponseMin && short > 0 {
		try := func() bool {
			r.quota.mu.Lock()
			defer r.quota.mu.Unlock()
			return r.quota.claim(r.key, short)
		}
		if !r.quota.retry(ctx, 0, try) {
			r.n -= more
			return problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy, "the memory for large responses is full of responses that are being created or that clients have not read yet: the run was ended; read those responses, and send the run again later, or with less output"))
		}
		r.claimed += short
	}
	return nil
}

// tryGrow is grow for callers that can do without the memory: it does not wait.
func (r *reservation) tryGrow(more int64) bool {
	r.quota.mu.Lock()
	defer r.quota.mu.Unlock()
	if !r.quota.claim(r.key, more) {
		return false
	}
	r.n, r.claimed = r.n+more, r.claimed+more
	return true
}

// shrink releases the reservation above n bytes.
func (r *reservation) shrink(n int64) {
	r.quota.mu.Lock()
	defer r.quota.mu.Unlock()
	if over := r.claimed - n; over > 0 {
		r.quota.free(r.key, over)
		r.claimed -= over
	}
	r.n = min(r.n, n)
}

func (r *reservation) release() {
	if r == nil {
		return
	}
	r.quota.mu.Lock()
	defer r.quota.mu.Unlock()
	r.quota.free(r.key, r.claimed)
	r.n, r.claimed = 0, 0
}
