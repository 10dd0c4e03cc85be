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

// A heldMemory bounds what the agent keeps in memory for all requests together: bodies,
// inputs by blob, output and files on their way into an answer, and answers that a client
// has not taken yet. What finds no room is refused, before anything runs (AGT-21: two jobs
// took 2.8 GiB).
//
// A request may keep share whatever others do. What it keeps above is of common, for
// which large requests have a queue: one whose tests each took most of the memory kept all
// others out for as long as it went on, 17 hours by its limits
// (TestLargeTestsLeaveMemoryToOthers).
type heldMemory struct {
	most   int64 // together
	share  int64 // of a request, that no other's large needs can take
	common int64 // for what requests keep above share, together

	mu    sync.Mutex
	now   int64    // guarded by mu
	above int64    // guarded by mu; of it, what is above the shares
	queue []*claim // guarded by mu; the first is the next; those of before claimLife are of nobody
	turn  uint64   // guarded by mu; of the newest claim
}

// A claim is a place in the queue for common. Nobody waits in here: a request that was
// refused comes again, and has the place of one that wanted as much. The first has
// everything that becomes free until it is enough, so that large ones starve as little as
// less large ones.
type claim struct {
	turn  uint64
	of    *holding // nil: its request was refused, and is expected to come again
	total int64    // what the request would keep
	seen  time.Time
}

// claimLife is how soon a refused request comes again: the gateway within a second, after
// as long as it takes to send and parse a large one.
const claimLife = 2 * time.Second

// A holding is what one request keeps. A nil one is of a request that keeps nothing.
type holding struct {
	of    *heldMemory
	since time.Time // when the request came
	n     int64     // guarded by of.mu

	claim  *claim // guarded by of.mu; in the queue
	served *claim // guarded by of.mu; the last that was in the queue until its turn came
	begun  bool   // guarded by of.mu; something was kept above the share
	full   bool   // guarded by of.mu; it was refused for what others have
}

// over is how much of n bytes of one request is above the share.
func (all *heldMemory) over(n int64) int64 { return max(n-all.share, 0) }

// resize adds so many bytes to what is kept, or takes them off where n is negative. Zero
// keeps the request's place in the queue, if it has one.
func (h *holding) resize(n int64) error { return h.change(n, true) }

// read is resize for a body while it is read and parsed, which is soon over: it needs no
// turn.
func (h *holding) read(n int64) error { return h.change(n, false) }

func (h *holding) change(n int64, turns bool) error {
	if h == nil {
		return nil
	}
	all := h.of
	all.mu.Lock()
	defer all.mu.Unlock()
	n = max(n, -h.n)
	total := h.n + n
	above := all.over(total) - all.over(h.n)
	switch {
	case n == 0:
		if h.claim != nil {
			h.claim.seen = time.Now()
		}
	case n < 0:
	case total > all.most || turns && above > 0 && all.over(total) > all.common:
		most := all.most
		if turns {
			most = min(most, all.share+all.common)
		}
		return api.Refuse(api.CodeTooLarge, "the agent would have to keep up to %s for this request, and keeps %s for one: send less, have less output, files or tests come back, or take output as a stream", api.Size(total), api.Size(most))
	case turns && above > 0:
		c := all.claimOf(h, total)
		if c != all.first(c.seen) || all.above+above > all.common || all.now+n > all.most {
			return all.full(total)
		}
		all.drop(c)
		h.served, h.begun = c, true
	case all.now+n > all.most:
		return all.full(total)
	}
	h.n = total
	all.now += n
	all.above += above
	return nil
}

// full is what a request is told that would keep so much; all.mu is held.
func (all *heldMemory) full(total int64) error {
	return api.Fail(api.CodeBusy, "there is no memory for results: the agent would have to keep up to %s for this request, and keeps %s of %s for others, or large ones were first: send it again, or have less output or files come back (limits.output, keep_output, collect.bytes)", api.Size(total), api.Size(all.now), api.Size(all.most))
}

// claimOf finds or makes the place of a request that would keep so much in all; all.mu is
// held. One that has kept something above its share goes to the end: the test that follows
// is behind the others.
func (all *heldMemory) claimOf(h *holding, total int64) *claim {
	now := time.Now()
	if h.claim == nil && !h.begun {
		for _, c := range all.queue {
			if c.of == nil && c.total == total && now.Sub(c.seen) < claimLife {
				c.of, h.claim = h, c
				break
			}
		}
	}
	if h.claim == nil {
		all.turn++
		h.claim = &claim{turn: all.turn, of: h}
		all.queue = append(all.queue, h.claim)
	}
	h.claim.total, h.claim.seen = total, now
	return h.claim
}

// first is whose turn it is; all.mu is held. It forgets those who did not come again.
func (all *heldMemory) first(now time.Time) *claim {
	all.queue = slices.DeleteFunc(all.queue, func(c *claim) bool {
		gone := now.Sub(c.seen) >= claimLife
		if gone && c.of != nil {
			c.of.claim = nil
		}
		return gone
	})
	if len(all.queue) == 0 {
		return nil
	}
	return all.queue[0]
}

// drop takes a claim out of the queue; all.mu is held.
func (all *heldMemory) drop(c *claim) {
	all.queue = slices.DeleteFunc(all.queue, func(o *claim) bool { return o == c })
	c.of.claim, c.of = nil, nil
}

// again is how soon the request comes again if it is refused now that it is read and parsed.
// The gateway waits four times as long as a try took, at most a second, and a try of its own
// takes longer than what is seen here.
func (h *holding) again() time.Duration {
	return min(10*time.Since(h.since), claimLife*2/3)
}

// ended notes how the request's work ended: one that was refused for what others have
// comes again, and has its place then.
func (h *holding) ended(err error) {
	if h == nil {
		return
	}
	var e *api.Error
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.full = errors.As(err, &e) && (e.Code == api.CodeBusy || e.Code == api.CodeOverloaded)
}

// release gives everything back.
func (h *holding) release() {
	if h == nil {
		return
	}
	_ = h.resize(-1 << 62) // to take off is never refused
	all := h.of
	all.mu.Lock()
	defer all.mu.Unlock()
	switch c := h.claim; {
	case c != nil && h.full:
		c.of, h.claim = nil, nil
	case c != nil:
		all.drop(c)
	case h.served != nil && h.full: // there was room, but no slot
		h.served.seen = time.Now()
		all.queue = append(all.queue, h.served)
		slices.SortFunc(all.queue, func(a, b *claim) int { return cmp.Compare(a.turn, b.turn) })
		h.served = nil
	}
}

type holdingKey struct{}

// withHolding gives a request its holding, which is empty at first.
func (s *Server) withHolding(ctx context.Context) (context.Context, *holding) {
	h := &holding{of: &s.held, since: time.Now()}
	return context.WithValue(ctx, holdingKey{}, h), h
}

func holdingOf(ctx context.Context) *holding {
	h, _ := ctx.Value(holdingKey{}).(*holding)
	return h
}

// smallBody is the size up to which a body is not counted: with as many connections as
// there may be it is little.
const smallBody = 4 << 10

// bodyCost is what a body of n bytes takes while it is read and parsed: itself, what it
// says, and the lists and maps that JSON can be full of, of which api.ParseRun allows only
// so many.
func bodyCost(n int64) int64 {
	if n <= smallBody {
		return 0
	}
	return 2*n + min(6*n, 128<<20)
}

// parsedCost is what stays of it.
func parsedCost(n int64) int64 {
	if n <= smallBody {
		return 0
	}
	return n + min(3*n, 64<<20)
}
