package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// responseQuota is the memory quota for large responses that clients have not read yet. Each is in memory
// until then, and a client that requests many and reads none must not fill the memory (API-15).
type responseQuota struct {
	max int64 // bytes, for all keys together

	mu      sync.Mutex
	total   int64                 // guarded by mu
	waiting int64                 // guarded by mu; bytes of responses that wait for quota; they are in memory in addition
	byKey   map[string]int64      // guarded by mu; by key
	shared  map[any]*sharedObject // guarded by mu; by the object that is sent
}

// A sharedObject is an object that several responses refer to. It is in memory once.
type sharedObject struct {
	n    int64
	refs int // number of responses that are sending it
}

func newResponseQuota(most int64) *responseQuota {
	return &responseQuota{max: most, byKey: map[string]int64{}, shared: map[any]*sharedObject{}}
}

const largeResponseMin = 32 << 10 // smaller responses need no quota: the number of connections is limited

// waitingDivisor is the divisor for the memory of waiting responses: a further most/waitingDivisor
// bytes may wait for quota.
const waitingDivisor = 8

// quotaWait is how long a response waits for quota. Clients that read their responses free some
// quickly.
const quotaWait = 2 * time.Second

// reserve reserves quota like take, but waits a little for it, unless too many bytes wait already.
func (a *responseQuota) reserve(ctx context.Context, key string, n int64, what any) (release func(), ok bool) {
	ok = a.retry(ctx, n, func() bool {
		release, ok = a.tryReserve(key, n, what)
		return ok
	})
	return release, ok
}

// retry retries until try succeeds or the time is over. It fails at once if, with these n
// bytes, too many bytes in memory would wait.
func (a *responseQuota) retry(ctx context.Context, n int64, try func() bool) bool {
	if try() {
		return true
	}
	if !a.addWaiting(n) {
		return false
	}
	defer a.addWaiting(-n)
	end := time.After(quotaWait)
	for {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-end:
			return false
		case <-ctx.Done():
			return false
		}
		if try() {
			return true
		}
	}
}

func (a *responseQuota) addWaiting(n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > 0 && a.waiting > 0 && a.waiting+n > a.max/waitingDivisor {
		return false
	}
	a.waiting += n
	return true
}

// tryReserve reserves n bytes of quota for a response, until release is called. An object (what) that is
// not nil is counted once, however many responses it is in.
func (a *responseQuota) tryReserve(key string, n int64, what any) (release func(), ok bool) {
	if n <= largeResponseMin {
		return func() {}, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.shared[what]
	if s == nil {
		if !a.claim(key, n) {
			return nil, false
		}
		s = &sharedObject{n: n}
		if what != nil {
			a.shared[what] = s
		}
	}
	s.refs++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if s.refs--; s.refs == 0 {
			delete(a.shared, what)
			a.free(key, s.n)
		}
	}, true
}

// claim reserves quota; a.mu is held. It leaves a part for keys that have none yet.
func (a *responseQuota) claim(key string, n int64) bool {
	if !fits(a.byKey[key], a.total, n, a.max) {
		return false
	}
	a.total += n
	a.byKey[key] += n
	return true
}

// free returns quota; a.mu is held.
func (a *responseQuota) free(key string, n int64) {
	a.total -= n
	if a.byKey[key] -= n; a.byKey[key] == 0 {
		delete(a.byKey, key)
	}
}

// sharedObjectOf returns the object that a response shares with others, or nil.
func sharedObjectOf(v any) any {
	if s, is := v.(api.Status); is && s.Result != nil {
		return s.Result
	}
	return nil
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

// noQuotaError is the error for a response that gets no quota. A run in it is in the history.
func noQuotaError(run string) error {
	p := problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy, "the memory for large responses is full of responses that clients have not read yet: read those, and send the request again later; the history has the first 64 KiB of each stream of a run"))
	if run != "" {
		p.Run, p.RetrySafe = run, false
	}
	return p
}
