package agent

import (
	"context"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// A memoryQuota is the memory quota of all requests together. It counts bodies, inputs by blob,
// output and files that a response will have, and responses that a client has not read yet. A
// request that exceeds the quota is refused before anything runs (AGT-21: without the quota two
// jobs took 2.8 GiB).
//
// Each stage that runs has a guaranteed share: as many stages run as there are slots, and their shares
// are not in common. Memory above the share, and all that requests hold while they have no slot, is
// of common. Without the share, a request whose tests each took most of the memory blocked all others
// until it ended. Its limits allowed 17 hours (TestLargeTestsLeaveMemoryToOthers).
//
// The quota has no queue: who must wait for it does so in the runtime, for a slot and memory at once.
type memoryQuota struct {
	limit  int64  // for all requests together
	share  int64  // guaranteed to each stage
	common int64  // the part of limit that is not guaranteed to stages
	freed  func() // called when memory was released

	mu         sync.Mutex
	used       int64 // guarded by mu; in use
	usedCommon int64 // guarded by mu; the part of used that is of common
}

// A reservation is the memory that one request holds. A nil reservation is valid and counts
// nothing.
type reservation struct {
	quota *memoryQuota

	kept   int64 // guarded by quota.mu; held without a slot
	stages int64 // guarded by quota.mu; reserved for stages that run
	above  int64 // guarded by quota.mu; the part of stages that is above their shares
}

// Keep counts n more bytes that are held until the request ends. Where they do not fit into common next to
// what others keep, one request can still have them: a body may be larger than common.
func (r *reservation) Keep(n int64) error {
	if r == nil || n == 0 {
		return nil
	}

	q := r.quota
	if n < 0 {
		defer q.freed()
	}

	q.mu.Lock()
	defer q.mu.Unlock()

	n = max(n, -r.kept)
	switch {
	case n < 0:
	case r.kept+n > q.limit:
		return tooMuch(r.kept+n, q.limit)
	case q.usedCommon+n > q.common && q.usedCommon > r.kept, q.used+n > q.limit:
		return q.busyError(r.kept + n)
	}

	r.kept += n
	q.add(n, n)
	return nil
}

// Begin reserves the most that a stage may hold.
func (r *reservation) Begin(maximum int64, common bool) error {
	if r == nil {
		return nil
	}

	q := r.quota
	q.mu.Lock()
	defer q.mu.Unlock()

	above := max(maximum-q.share, 0)
	switch {
	case above > 0 && r.kept+above > q.common, maximum > q.limit:
		return tooMuch(r.kept+maximum, q.share+q.common)
	case above > 0 && (!common || q.usedCommon+above > q.common), q.used+maximum > q.limit:
		return q.busyError(maximum)
	}

	r.stages += maximum
	r.above += above
	q.add(maximum, above)
	return nil
}

// End ends a stage for which maximum bytes were reserved; of these, kept are held from now on.
func (r *reservation) End(maximum, kept int64) {
	if r == nil {
		return
	}
	r.end(maximum, kept)
	r.quota.freed()
}

// Cancel undoes Begin.
func (r *reservation) Cancel(maximum int64) {
	if r != nil {
		r.end(maximum, 0)
	}
}

func (r *reservation) end(maximum, kept int64) {
	q := r.quota
	q.mu.Lock()
	defer q.mu.Unlock()
	above := max(maximum-q.share, 0)
	r.stages -= maximum
	r.above -= above
	r.kept += kept
	q.add(kept-maximum, kept-above)
}

// release returns all memory of the request.
func (r *reservation) release() {
	if r == nil {
		return
	}
	q := r.quota
	q.mu.Lock()
	held := r.kept + r.stages
	q.add(-held, -r.kept-r.above)
	r.kept, r.stages, r.above = 0, 0, 0
	q.mu.Unlock()
	if held > 0 {
		q.freed()
	}
}

// add changes what is in use; q.mu is held.
func (q *memoryQuota) add(used, common int64) {
	q.used += used
	q.usedCommon += common
}

func tooMuch(needs, maximum int64) error {
	return api.Refuse(api.CodeTooLarge,
		"this request needs up to %s of the agent's memory, and the limit for one request is %s: send less, request "+
			"less output or fewer files or tests, or stream the output", api.Size(needs), api.Size(maximum))
}

// busyError makes the error for a request that needs so many bytes; q.mu is held.
func (q *memoryQuota) busyError(needs int64) error {
	return api.Fail(api.CodeBusy,
		"there is no memory for results: this request needs up to %s, and other requests use %s of %s: retry, or "+
			"request less output or fewer files (limits.output, keep_output, collect.bytes)", api.Size(needs), api.Size(q.used), api.Size(q.limit))
}

type reservationKey struct{}

// withReservation adds an empty reservation to the context of a request.
func (s *Server) withReservation(ctx context.Context) (context.Context, *reservation) {
	r := &reservation{quota: &s.memory}
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
