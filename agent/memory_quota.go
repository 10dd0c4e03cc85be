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
// output and files on their way into an answer, and answers that a client has not read yet. A
// request that exceeds the quota is refused before anything runs (AGT-21: two jobs took 2.8 GiB).
//
// Each request has a guaranteed share. Memory above the share comes from common, for which large
// requests queue: a request whose tests each took most of the memory locked out all others for as
// long as it went on, 17 hours by its limits (TestLargeTestsLeaveMemoryToOthers).
type memoryQuota struct {
	limit  int64 // for all requests together
	share  int64 // guaranteed to each request, whatever large requests need
	common int64 // for all requests together above their shares

	mu              sync.Mutex
	used            int64    // guarded by mu; in use
	usedAboveShares int64    // guarded by mu; the part of now that is above the shares
	queue           []*claim // guarded by mu; the first is next; claims not renewed for claimLife are dropped
	lastTicket      uint64   // guarded by mu; the number of the newest claim
}

// A claim is a place in the queue for common. No goroutine waits in the queue: a refused request
// is sent again and takes the place of one that wanted as much memory. The first claim gets all
// memory that becomes free until it has enough, so that large requests do not starve behind
// smaller ones.
type claim struct {
	ticket      uint64
	reservation *reservation // nil: its request was refused and is expected again
	total       int64        // what the request would hold
	seen        time.Time
}

// claimLife is how long a claim of a refused request is kept. The gateway retries within a second,
// plus the time to send and parse a large request.
const claimLife = 2 * time.Second

// A reservation is the memory that one request holds. A nil holding is for a request that holds none.
type reservation struct {
	quota *memoryQuota
	since time.Time // when the request arrived
	bytes int64     // guarded by of.mu

	claim       *claim // guarded by of.mu; in the queue
	served      *claim // guarded by of.mu; the last claim that reached the head of the queue
	usedCommon  bool   // guarded by of.mu; the request has held memory above the share
	refusedBusy bool   // guarded by of.mu; the request was refused because of other requests' usage
}

// aboveShare returns how much of n bytes of one request is above the share.
func (all *memoryQuota) aboveShare(n int64) int64 { return max(n-all.share, 0) }

// resize adds n bytes to the memory that is held, or subtracts them if n is negative. Zero renews
// the request's place in the queue, if it has one.
func (h *reservation) resize(n int64) error { return h.change(n, true) }

// resizeForBody is resize for a body while it is read and parsed. That takes little time, so it does not go
// through the queue.
func (h *reservation) resizeForBody(n int64) error { return h.change(n, false) }

func (h *reservation) change(n int64, queued bool) error {
	if h == nil {
		return nil
	}
	quota := h.quota
	quota.mu.Lock()
	defer quota.mu.Unlock()
	n = max(n, -h.bytes)
	total := h.bytes + n
	above := quota.aboveShare(total) - quota.aboveShare(h.bytes)
	switch {
	case n == 0:
		if h.claim != nil {
			h.claim.seen = time.Now()
		}
	case n < 0:
	case total > quota.limit || queued && above > 0 && quota.aboveShare(total) > quota.common:
		most := quota.limit
		if queued {
			most = min(most, quota.share+quota.common)
		}
		return api.Refuse(api.CodeTooLarge, "this request needs up to %s of the agent's memory, and the limit for one request is %s: send less, request less output or fewer files or tests, or stream the output", api.Size(total), api.Size(most))
	case queued && above > 0:
		c := quota.claimOf(h, total)
		if c != quota.head(c.seen) || quota.usedAboveShares+above > quota.common || quota.used+n > quota.limit {
			return quota.busyError(total)
		}
		quota.removeClaim(c)
		h.served, h.usedCommon = c, true
	case quota.used+n > quota.limit:
		return quota.busyError(total)
	}
	h.bytes = total
	quota.used += n
	quota.usedAboveShares += above
	return nil
}

// busyError makes the error for a request that would hold total bytes; all.mu is held.
func (all *memoryQuota) busyError(total int64) error {
	return api.Fail(api.CodeBusy, "there is no memory for results: this request needs up to %s, and other requests use %s of %s or are ahead in the queue: retry, or request less output or fewer files (limits.output, keep_output, collect.bytes)", api.Size(total), api.Size(all.used), api.Size(all.limit))
}

// claimOf finds or makes the claim of a request that would hold total bytes; all.mu is held. A
// request that has held memory above its share goes to the end: its next test is behind the other
// requests.
func (all *memoryQuota) claimOf(r *reservation, total int64) *claim {
	now := time.Now()
	if r.claim == nil && !r.usedCommon {
		for _, c := range all.queue {
			if c.reservation == nil && c.total == total && now.Sub(c.seen) < claimLife {
				c.reservation, r.claim = r, c
				break
			}
		}
	}
	if r.claim == nil {
		all.lastTicket++
		r.claim = &claim{ticket: all.lastTicket, reservation: r}
		all.queue = append(all.queue, r.claim)
	}
	r.claim.total, r.claim.seen = total, now
	return r.claim
}

// head returns the claim at the head of the queue; all.mu is held. It drops claims that were not
// renewed in time.
func (all *memoryQuota) head(now time.Time) *claim {
	all.queue = slices.DeleteFunc(all.queue, func(c *claim) bool {
		gone := now.Sub(c.seen) >= claimLife
		if gone && c.reservation != nil {
			c.reservation.claim = nil
		}
		return gone
	})
	if len(all.queue) == 0 {
		return nil
	}
	return all.queue[0]
}

// removeClaim takes a claim out of the queue; all.mu is held.
func (all *memoryQuota) removeClaim(c *claim) {
	all.queue = slices.DeleteFunc(all.queue, func(o *claim) bool { return o == c })
	c.reservation.claim, c.reservation = nil, nil
}

// retryDelay estimates how soon the request is retried if it is refused, now that it is read and parsed.
// The gateway waits four times as long as an attempt took, at most a second, and the gateway
// measures a longer attempt than the agent.
func (h *reservation) retryDelay() time.Duration {
	return min(10*time.Since(h.since), claimLife*2/3)
}

// finish records how the request's work ended. A request that was refused because of other requests'
// usage is retried, and then has its place in the queue.
func (h *reservation) finish(err error) {
	if h == nil {
		return
	}
	var e *api.Error
	h.quota.mu.Lock()
	defer h.quota.mu.Unlock()
	h.refusedBusy = errors.As(err, &e) && (e.Code == api.CodeBusy || e.Code == api.CodeOverloaded)
}

// release returns all memory of the request.
func (h *reservation) release() {
	if h == nil {
		return
	}
	_ = h.resize(-1 << 62) // a reduction is never refused
	all := h.quota
	all.mu.Lock()
	defer all.mu.Unlock()
	switch c := h.claim; {
	case c != nil && h.refusedBusy:
		c.reservation, h.claim = nil, nil
	case c != nil:
		all.removeClaim(c)
	case h.served != nil && h.refusedBusy: // there was memory, but no slot
		h.served.seen = time.Now()
		all.queue = append(all.queue, h.served)
		slices.SortFunc(all.queue, func(a, b *claim) int { return cmp.Compare(a.ticket, b.ticket) })
		h.served = nil
	}
}

type reservationKey struct{}

// withReservation adds an empty holding to the context of a request.
func (s *Server) withReservation(ctx context.Context) (context.Context, *reservation) {
	h := &reservation{quota: &s.memory, since: time.Now()}
	return context.WithValue(ctx, reservationKey{}, h), h
}

func reservationOf(ctx context.Context) *reservation {
	h, _ := ctx.Value(reservationKey{}).(*reservation)
	return h
}

// smallBody is the size up to which a body is not counted: even with the maximum of connections it
// is little.
const smallBody = 4 << 10

// bodyCost is the memory for a body of n bytes while it is read and parsed: the body, the decoded
// content, and lists and maps, whose number api.ParseRun limits.
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
