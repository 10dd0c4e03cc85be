package core

import (
	"context"
	"errors"
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/queue"
)

// A ReadKind is a kind of data that a request reads much of.
type ReadKind int

const (
	Little ReadKind = iota
	// statistics over 90,000 of them take a processor for most of a second, and 64 concurrent requests delayed another
	// key's run of 12 ms to up to 900
	PastRuns
	BoxFiles // names that programs have chosen: 40 concurrent lists used both processors of the agent (AGT-43)
)

// readQueue returns the queue for requests of this kind, and the name of the kind for messages.
func (s *Core) readQueue(one ReadKind) (of *queue.Queue, called string) {
	if one == BoxFiles {
		return s.FileLists, "lists of files"
	}
	return s.HistoryReads, "past runs and their statistics"
}

// Limits of the requests of one kind.
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
func (s *Core) AcquireRead(r *http.Request, one ReadKind) (with *http.Request, release func(), err error) {
	owner := queue.Owner{}
	if c := CallerOf(r.Context()); c.Name != "" {
		owner = queue.Owner{Key: c.Name, MaxSlots: ReadSlotsPerKey, MaxWaiting: ReadsWaitingPerKey}
	}

	slots, called := s.readQueue(one)
	slot, err := slots.Take(r.Context(), owner)
	var full *queue.Full
	switch {
	case errors.As(err, &full):
		of := "requests"
		if full.Bound == "key" {
			of = "requests of this key"
		}
		return nil, nil, Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeBusy,
				"%d %s for %s are waiting, and %d may wait: send it again later, and one request after the other",
				full.Waiting, of, called, full.Max))
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
