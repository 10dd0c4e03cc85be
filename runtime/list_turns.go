package runtime

import (
	"context"
	"sync/atomic"

	"github.com/brig-sandbox/brig/api"
)

// Bounds of requests that list a session's files. Each reads up to 10,000 names, whose
// program chose them so that this costs most: 40 at a time took 4.5 GB and both processors
// (AGT-43).
const (
	listsAtATime   = 2 // of all sessions
	listsWaiting   = 64
	sessionLists   = 1 // of a session
	sessionWaiting = 16
)

// listKeeps is what the agent keeps at most for one list while it is made: the names that
// it reads, what it tells of them, and the JSON of that.
const listKeeps = int64(8 * api.MiB)

// listTurns are turns of requests for lists, in the order in which they came.
type listTurns struct {
	free    chan struct{}
	most    int64
	waiting atomic.Int64
}

func newListTurns(turns, waiting int) *listTurns {
	return &listTurns{free: make(chan struct{}, turns), most: int64(waiting)}
}

var errListLeft = api.Fail(api.CodeBusy, "canceled while the files were listed")

// take waits for a turn, which lasts until leave is called.
func (t *listTurns) take(ctx context.Context) (leave func(), err error) {
	if t.waiting.Add(1) > t.most {
		t.waiting.Add(-1)
		return nil, api.Fail(api.CodeBusy, "%d lists of files are asked for and wait, and that is the most: send it again later, and one after the other", t.most)
	}
	defer t.waiting.Add(-1)
	select {
	case t.free <- struct{}{}:
		return func() { <-t.free }, nil
	case <-ctx.Done():
		return nil, errListLeft
	}
}
