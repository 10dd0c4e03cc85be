package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A memoryQuota is the memory quota of all requests together. It counts bodies, inputs by blob,
// output and files that a response will have, and responses that a client has not read yet. A
// request that exceeds the quota is refused before anything runs (AGT-21: without the quota two
// jobs took 2.8 GiB).
//
// Each request has a guaranteed share. Memory above the share comes from common, and large requests
// queue for it. Without the queue, a request whose tests each took most of the memory blocked all
// other requests until it ended. Its limits allowed 17 hours (TestLargeTestsLeaveMemoryToOthers).
type memoryQuota struct {
	limit  int64 // for all requests together
	share  int64 // guaranteed to each request, whatever large requests need
	common int64 // for all requests together above their shares

	mu              sync.Mutex
	used            int64    // guarded by mu; in use
	usedAboveShares int64    // guarded by mu; the part of used that is above the shares
	queue           []*claim // guarded by mu; the first is next; claims not renewed for claimLife are dropped
	lastTicket      uint64   // guarded by mu; the number of the newest claim
}

// A claim is a place in the queue for common. No goroutine waits in the queue: a request that must
// wait is refused, and its claim stays. When the caller sends the request again, it takes over a
// claim of a refused request for the same amount of memory. Only the first claim can get memory of
// common, so that large requests do not starve behind smaller ones.
type claim struct {
	ticket      uint64
	reservation *reservation // nil: its request was refused and is expected again
	total       int64        // what the request would hold
	seen        time.Time
}

// claimLife is how long a claim stays in the queue after it was renewed. The gateway sends a
// refused request again after at most a second; then the request must be sent and parsed.
const claimLife = 2 * time.Second

// A reservation is the memory that one request holds. A nil reservation is valid and counts
// nothing.
type reservation struct {
	quota *memoryQuota
	since time.Time // when the request arrived
	bytes int64     // guarded by quota.mu

	claim       *claim // guarded by quota.mu; its place in the queue; nil: it has none
	served      *claim // guarded by quota.mu; its last claim that got memory
	usedCommon  bool   // guarded by quota.mu; the request has held memory above the share
	refusedBusy bool   // guarded by quota.mu; the request was refused because other requests use the memory or the slots
}

// aboveShare returns how many of the n bytes of one request are above its share.
func (q *memoryQuota) aboveShare(n int64) int64 { return max(n-q.share, 0) }

// resize changes the memory that the request holds by n bytes; n may be negative. If n is zero,
// resize only renews the request's claim, if it has one.
func (r *reservation) resize(n int64) error { return r.change(n, true) }

// resizeForBody is resize without the queue. It is for memory that is held only for a short time:
// of a body that is read and parsed, and of a list of files.
func (r *reservation) resizeForBody(n int64) error { return r.change(n, false) }

func (r *reservation) change(n int64, queued bool) error {
	if r == nil {
		return nil
	}
	quota := r.quota
	quota.mu.Lock()
	defer quota.mu.Unlock()
	n = max(n, -r.bytes)
	total := r.bytes + n
	above := quota.aboveShare(total) - quota.aboveShare(r.bytes)
	switch {
	case n == 0:
		if r.claim != nil {
			r.claim.seen = time.Now()
		}
	case n < 0:
	case total > quota.limit || queued && above > 0 && quota.aboveShare(total) > quota.common:
		most := quota.limit
		if queued {
			most = min(most, quota.share+quota.common)
		}
		return api.Refuse(api.CodeTooLarge, "this request needs up to %s of the agent's memory, and the limit for one request is %s: send less, request less output or fewer files or tests, or stream the output", api.Size(total), api.Size(most))
	case queued && above > 0:
		c := quota.claimOf(r, total)
		if c != quota.head(c.seen) || quota.usedAboveShares+above > quota.common || quota.used+n > quota.limit {
			return quota.busyError(total)
		}
		quota.removeClaim(c)
		r.served, r.usedCommon = c, true
	case quota.used+n > quota.limit:
		return quota.busyError(total)
	}
	r.bytes = total
	quota.used += n
	quota.usedAboveShares += above
	return nil
}

// busyError makes the error for a request that would hold total bytes; q.mu is held.
func (q *memoryQuota) busyError(total int64) error {
	return api.Fail(api.CodeBusy, "there is no memory for results: this request needs up to %s, and other requests use %s of %s or are ahead in the queue: retry, or request less output or fewer files (limits.output, keep_output, collect.bytes)", api.Size(total), api.Size(q.used), api.Size(q.limit))
}

// claimOf returns the claim of a request that would hold total bytes; q.mu is held. A request
// without a claim takes over the claim of a refused request that would hold as much. But if the
// request has already held memory above its share, it gets a new claim at the end of the queue: its
// next test waits behind the other requests.
func (q *memoryQuota) claimOf(r *reservation, total int64) *claim {
	now := time.Now()
	if r.claim == nil && !r.usedCommon {
		for _, c := range q.queue {
			if c.reservation == nil && c.total == total && now.Sub(c.seen) < claimLife {
				c.reservation, r.claim = r, c
				break
			}
		}
	}
	if r.claim == nil {
		q.lastTicket++
		r.claim = &claim{ticket: q.lastTicket, reservation: r}
		q.queue = append(q.queue, r.claim)
	}
	r.claim.total, r.claim.seen = total, now
	return r.claim
}

// head returns the claim at the head of the queue; q.mu is held. It drops claims that were not
// renewed in time.
func (q *memoryQuota) head(now time.Time) *claim {
	q.queue = slices.DeleteFunc(q.queue, func(c *claim) bool {
		gone := now.Sub(c.seen) >= claimLife
		if gone && c.reservation != nil {
			c.reservation.claim = nil
		}
		return gone
	})
	if len(q.queue) == 0 {
		return nil
	}
	return q.queue[0]
}

// removeClaim takes a claim out of the queue; q.mu is held.
func (q *memoryQuota) removeClaim(c *claim) {
	q.queue = slices.DeleteFunc(q.queue, func(o *claim) bool { return o == c })
	c.reservation.claim, c.reservation = nil, nil
}

// retryDelay estimates the time until the caller sends the request again if it is refused now,
// after it was read and parsed. The gateway waits four times as long as its attempt took, at most a
// second. The gateway's attempt takes longer than the time since the agent received the request, so
// retryDelay returns more than four times that time.
func (r *reservation) retryDelay() time.Duration {
	return min(10*time.Since(r.since), claimLife*2/3)
}

// finish records whether the request was refused because other requests use the memory or the
// slots. Its caller then sends it again, so release keeps its place in the queue.
func (r *reservation) finish(err error) {
	if r == nil {
		return
	}
	var e *api.Error
	r.quota.mu.Lock()
	defer r.quota.mu.Unlock()
	r.refusedBusy = errors.As(err, &e) && (e.Code == api.CodeBusy || e.Code == api.CodeOverloaded)
}

// release returns all memory of the request.
func (r *reservation) release() {
	if r == nil {
		return
	}
	_ = r.resize(-1 << 62) // a reduction is never refused
	quota := r.quota
	quota.mu.Lock()
	defer quota.mu.Unlock()
	switch c := r.claim; {
	case c != nil && r.refusedBusy:
		c.reservation, r.claim = nil, nil
	case c != nil:
		quota.removeClaim(c)
	case r.served != nil && r.refusedBusy: // it got memory, but no slot: it gets its old place again
		r.served.seen = time.Now()
		quota.queue = append(quota.queue, r.served)
		slices.SortFunc(quota.queue, func(a, b *claim) int { return cmp.Compare(a.ticket, b.ticket) })
		r.served = nil
	}
}

type reservationKey struct{}

// withReservation adds an empty reservation to the context of a request.
func (s *Server) withReservation(ctx context.Context) (context.Context, *reservation) {
	r := &reservation{quota: &s.memory, since: time.Now()}
	return context.WithValue(ctx, reservationKey{}, r), r
}

func reservationOf(ctx context.Context) *reservation {
	r, _ := ctx.Value(reservationKey{}).(*reservation)
	return r
}

// smallBody is the size up to which a body is not counted. Even if every connection has such a
// body, they take little memory together.
const smallBody = 4 << 10

// bodyCost is the memory that a body of n bytes takes while it is read and parsed: for the body,
// for its decoded content, and for its lists and maps. decode.Run limits the number of lists and
// maps.
func bodyCost(n int64) int64 {
	if n <= smallBody {
		return 0
	}
	return 2*n + min(6*n, 128<<20)
}

// parsedCost is the part of bodyCost that stays in use after parsing.
func parsedCost(n int64) int64 {
	if n <= smallBody {
		return 0
	}
	return n + min(3*n, 64<<20)
}
