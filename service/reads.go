package service

import (
	"context"
	"errors"
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/queue"
)

// A readKind is a kind of data that a request reads much of.
type readKind int

const (
	little   readKind = iota
	pastRuns          // statistics over 90,000 of them take a processor for most of a second, and 64 concurrent requests delayed another key's run of 12 ms to up to 900
	boxFiles          // names that programs have chosen: 40 concurrent lists used both processors of the agent (AGT-43)
)

// readQueue returns the queue for requests of this kind, and the name of the kind for messages.
func (s *core) readQueue(one readKind) (of *queue.Queue, called string) {
	if one == boxFiles {
		return s.fileLists, "lists of files"
	}
	return s.historyReads, "past runs and their statistics"
}

// Limits of the requests of one kind.
const (
	readSlots          = 2 // of all keys
	readSlotsPerKey    = 1
	readsWaiting       = 64
	readsWaitingPerKey = 16
)

// acquireRead waits for a slot to read; the queue is fair between keys. The slot is held until the
// returned function is called or the response to the returned request has been encoded, however
// long sending it takes: two keys that do not read their responses could otherwise occupy all slots
// (API-15, TestUnreadResponsesHoldNoSlot).
func (s *core) acquireRead(r *http.Request, one readKind) (with *http.Request, release func(), err error) {
	owner := queue.Owner{}
	if c := callerOf(r.Context()); c.Name != "" {
		owner = queue.Owner{Key: c.Name, MaxSlots: readSlotsPerKey, MaxWaiting: readsWaitingPerKey}
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
		return nil, nil, problem(http.StatusTooManyRequests,
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
