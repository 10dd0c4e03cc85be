package core

import (
	"context"
	"errors"
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/queue"
)

// Limits of the requests that read much: past runs with their statistics, and the files of a session. Statistics over
// 90,000 runs take a processor for most of a second, and 64 concurrent requests delayed another key's run of 12 ms to up
// to 900; 40 concurrent lists of names that programs had chosen used both processors of the agent (AGT-43).
const (
	ReadSlots          = 2 // of all keys
	ReadSlotsPerKey    = 1
	readsWaiting       = 64
	ReadsWaitingPerKey = 16
)

// AcquireRead waits for a slot to read; the queue is fair between keys. The slot is held until the
// returned function is called or the response to the returned request has been encoded, however
// long sending it takes: two keys that do not read their responses could otherwise occupy all slots
// (API-15, TestUnreadResponsesHoldNoSlot).
func (s *Core) AcquireRead(r *http.Request) (with *http.Request, release func(), err error) {
	owner := queue.Owner{}
	if c := CallerOf(r.Context()); c.Name != "" {
		owner = queue.Owner{Key: c.Name, MaxSlots: ReadSlotsPerKey, MaxWaiting: ReadsWaitingPerKey}
	}

	slot, err := s.Reads.Take(r.Context(), owner)
	var full *queue.Full
	switch {
	case errors.As(err, &full):
		of := "requests"
		if full.Bound == "key" {
			of = "requests of this key"
		}
		return nil, nil, Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeBusy,
				"%d %s for past runs, statistics and lists of files are waiting, and %d may wait: send it again "+
					"later, and one request after the other", full.Waiting, of, full.Max))
	case err != nil:
		return nil, nil, err
	}

	return r.WithContext(context.WithValue(r.Context(), readSlotKey{}, slot)), slot.Release, nil
}

type readSlotKey struct{}

// releaseRead releases the slot of a request that has read its data, if it has one.
func releaseRead(ctx context.Context) {
	if slot, has := ctx.Value(readSlotKey{}).(*queue.Slot); has {
		slot.Release()
	}
}
