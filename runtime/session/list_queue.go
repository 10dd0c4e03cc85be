package session

import (
	"context"
	"sync/atomic"

	"github.com/brig-sandbox/brig/api"
)

// Bounds of requests that list a session's files. Each reads up to 10,000 names, which a hostile
// program can choose to make that expensive: 40 concurrent requests took 4.5 GB and both processors
// (AGT-43).
const (
	maxLists          = 2 // concurrently, of all sessions
	maxWaitingLists   = 64
	maxSessionLists   = 1 // concurrently, of one session
	maxSessionWaiting = 16
)

// listRetention is the most that the agent retains for one list while it is made: the names that it
// reads, the list that it returns, and its JSON.
const listRetention = int64(8 * api.MiB)

// listQueue is a queue of list requests, served in the order of their arrival.
type listQueue struct {
	slots      chan struct{}
	maxWaiting int64
	waiting    atomic.Int64
}

func newListQueue(slots, waiting int) *listQueue {
	return &listQueue{slots: make(chan struct{}, slots), maxWaiting: int64(waiting)}
}

var errListCanceled = api.Fail(api.CodeBusy, "canceled while the files were listed")

// acquire waits for a place among the running requests; the caller releases it with leave.
func (t *listQueue) acquire(ctx context.Context) (release func(), err error) {
	if t.waiting.Add(1) > t.maxWaiting {
		t.waiting.Add(-1)
		return nil, api.Fail(api.CodeBusy,
			"%d requests for files are waiting, which is the maximum: send it again later, and one request after the "+
				"other", t.maxWaiting)
	}
	defer t.waiting.Add(-1)
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots }, nil
	case <-ctx.Done():
		return nil, errListCanceled
	}
}
