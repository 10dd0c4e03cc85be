package core

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/connlimit"
	"github.com/brig-sandbox/brig/service/queue"
)

// UploadWait is how long a request waits for an upload slot. A client that sends as fast as it can
// has released its slot by then.
var UploadWait = time.Second // longer in tests

// errConnClosed is the error of a request whose connection was closed in favor of a new one while the
// request waited.
var errConnClosed = errors.New("the connection was closed in favor of a new one")

// UploadSlot acquires an upload slot for a request with a body.
func (s *Core) UploadSlot(r *http.Request) (release func(), err error) {
	if r.ContentLength == 0 {
		return func() {}, nil
	}
	return s.TransferSlot(r)
}

// TransferSlot acquires a transfer slot, which is held while a request's body is uploaded or a session's
// file is downloaded. Each transfer may take two minutes and occupies a connection meanwhile, and a
// connection to the agent where the data is forwarded. No key may occupy all of them, and a limit
// per address does not help behind a proxy, where all callers have one address (API-02).
func (s *Core) TransferSlot(r *http.Request) (release func(), err error) {
	owner, what := queue.Owner{}, "requests"
	if c := CallerOf(r.Context()); c.Name != "" {
		owner.Key, owner.MaxSlots = c.Name, c.Bodies
		if owner.MaxSlots == 0 {
			owner.MaxSlots = max(s.Config.MaxBodies/8, 1)
		}
	}
	if slot := s.Uploads.TryTake(owner); slot != nil {
		return slot.Release, nil
	}

	wait, stopWaiting := context.WithTimeout(r.Context(), UploadWait)
	defer stopWaiting()

	connlimit.MarkIdle(r)
	slot, err := s.Uploads.Take(wait, owner)
	if connlimit.MarkBusy(r) != nil {
		err = errConnClosed
	}

	switch {
	case err == nil:
		return slot.Release, nil
	case slot != nil:
		slot.Release()
		return nil, err
	case errors.Is(err, errConnClosed):
		return nil, err
	case r.Context().Err() != nil:
		return nil, r.Context().Err()
	}

	maximum, hint := s.Config.MaxBodies, "have the operator raise --max-bodies"
	if owner.MaxSlots > 0 && s.Uploads.Held(owner.Key) >= owner.MaxSlots {
		maximum, what, hint = owner.MaxSlots, "requests of this key", "have the operator raise bodies of the key"
	}

	return nil, Problem(http.StatusTooManyRequests,
		api.Fail(api.CodeTooManyBodies,
			"the bodies or files of %d %s are still being transferred, which is the maximum at a time: send the "+
				"request again later, send and read faster, or %s", maximum, what, hint))
}
