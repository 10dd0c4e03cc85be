package gateway

import (
	"context"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

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
			return problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy, "the memory for large responses is full of responses that are being created or that clients have not read yet: read those, and send the request again later, or ask for less"))
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
