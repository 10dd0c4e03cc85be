package core

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/quota"
)

// responseQuota is the memory quota for large responses that clients have not read yet. Each is in memory
// until then, and a client that requests many and reads none must not fill the memory (API-15).
type responseQuota struct {
	max     int64       // bytes, for all keys together
	Memory  *quota.Pool // bytes of responses
	waiting *quota.Pool // bytes of responses that wait for memory; they are in memory in addition
}

// newResponseQuota makes a quota of maximum bytes. Another maximum/WaitingDivisor bytes may wait, or one
// larger response alone.
func newResponseQuota(maximum int64) *responseQuota {
	waiting := quota.New(func(_, all, n int64) bool { return all == 0 || all+n <= maximum/WaitingDivisor })
	return &responseQuota{max: maximum, Memory: quota.New(quota.Shared(maximum)), waiting: waiting}
}

// LargeResponseMin is the size from which a response needs quota.
const LargeResponseMin = 32 << 10 // smaller responses need no quota: the number of connections is limited

// WaitingDivisor is the divisor for the memory of waiting responses.
const WaitingDivisor = 8

// quotaWait is how long a response waits for quota. Clients that read their responses free some
// quickly.
const quotaWait = 2 * time.Second

// Reserve reserves quota for a response of n bytes that is in memory, until release is called, which
// must be called once. It waits a little, unless too many bytes wait already.
func (a *responseQuota) Reserve(ctx context.Context, key string, n int64) (release func(), ok bool) {
	if n <= LargeResponseMin {
		return func() {}, true
	}

	if !a.Memory.TryAcquire(key, n) {
		if !a.waiting.TryAcquire("", n) {
			return nil, false
		}
		err := a.Memory.Acquire(ctx, key, n, quotaWait)
		a.waiting.Release("", n)
		if err != nil {
			return nil, false
		}
	}

	return func() { a.Memory.Release(key, n) }, true
}

// Reservation makes an empty reservation for a response that is not in memory yet.
func (a *responseQuota) Reservation(key string) *quota.Reservation {
	return a.Memory.Reserve(key, LargeResponseMin)
}

// growResponse makes a reservation larger. Waiting stops the program meanwhile, so it is brief: two
// runs that wait for each other would wait forever.
func growResponse(ctx context.Context, r *quota.Reservation, more int64) error {
	err := r.Grow(ctx, more, quotaWait)
	if errors.Is(err, quota.ErrFull) {
		return Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeBusy,
				"the memory for large responses is full of responses that are being created or that clients have not "+
					"read yet: read those, and send the request again later, or ask for less"))
	}
	return err
}

// finishedRun returns the id of the run whose result a response contains for the first time.
func finishedRun(v any) string {
	switch v := v.(type) {
	case api.Result:
		return v.Run
	case api.Executed:
		return v.Run
	}
	return ""
}

// NoQuotaError is the error for a response that gets no quota. A run in it is in the history.
func NoQuotaError(run string) error {
	p := Problem(http.StatusTooManyRequests,
		api.Fail(api.CodeBusy,
			"the memory for large responses is full of responses that clients have not read yet: read those, and "+
				"send the request again later; the history has the first 64 KiB of each stream of a run"))
	if run != "" {
		p.Run, p.RetrySafe = run, false
	}
	return p
}
