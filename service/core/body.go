package core

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/queue"
	"github.com/brig-sandbox/brig/service/quota"
)

const (
	LargeBodyMin   = 64 << 10 // smaller ones are limited by the places in the queue
	bodyStep       = 1 << 20  // the step in which a larger body reserves memory
	MaxLargeBodies = 4        // number of the largest bodies that fit into the memory quota
)

// BodyWait is how long a body that has partly arrived waits for more memory. The bodies that hold
// this memory may be waiting for the same.
const BodyWait = 5 * time.Second

// Compressed reports whether a body is another one than that which it means. Some clients, as E2B's for Python, say of each
// body that it is as it is.
func Compressed(r *http.Request) bool {
	encoding := r.Header.Get("Content-Encoding")
	return encoding != "" && !strings.EqualFold(encoding, "identity")
}

// ReadBody reads a request's whole body. Large bodies share a memory quota, from the time they are
// read until the caller calls release, which is when the run has ended: many callers together must
// not fill the memory, not even while they wait.
func (s *Core) ReadBody(w http.ResponseWriter, r *http.Request) (raw []byte, release func(), err error) {
	maximum := int64(s.Config.MaxBody)
	switch {
	case Compressed(r):
		return nil, nil, Problem(http.StatusUnsupportedMediaType,
			api.Refuse(api.CodeBadRequest, "a compressed body is not accepted: send plain JSON"))
	}

	// The slot comes before any byte is read: a slow body may take two minutes, and no key may occupy all
	// connections with such bodies (API-02).
	releaseSlot, err := s.UploadSlot(r)
	if err != nil {
		return nil, nil, err
	}
	defer releaseSlot()

	if r.ContentLength > maximum {
		return nil, nil, tooLarge(s.Config.MaxBody)
	}

	timer := newStallTimer(w)
	body := &reservingBody{core: s, stall: timer, ctx: r.Context(),
		reserved: s.BodyQuota.Reserve(CallerOf(r.Context()).Name, 0), in: http.MaxBytesReader(w, r.Body, maximum)}
	raw, err = io.ReadAll(body)
	if timer.pause(); err == nil && timer.stalled() {
		err = os.ErrDeadlineExceeded
	}

	// The reservation grew in steps, and the last step may be more than the body needs. A body that failed
	// returns all of it now, because its caller gets no release.
	body.reserved.Shrink(body.cost.Total)
	if err != nil {
		body.reserved.Release()
	}

	// A stall shows as a read error of the connection. It is looked for before other read errors, so that
	// the client does not get the answer that its request ended early.
	var over *http.MaxBytesError
	var own *api.Problem
	switch {
	case errors.As(err, &over):
		return nil, nil, tooLarge(s.Config.MaxBody)
	case timer.stalled():
		return nil, nil, Problem(http.StatusRequestTimeout,
			api.Fail(api.CodeBadRequest,
				"the request stalled: a large request must send at least %s in %v, because it holds memory that "+
					"other requests wait for: send it again, or send large inputs as blobs", api.Size(minProgress), StallTimeout))
	case errors.As(err, &own), errors.Is(err, context.Canceled):
		return nil, nil, err
	case err != nil:
		return nil, nil, api.Refuse(api.CodeBadRequest, "the request ended early: %w", err)
	}

	return raw, body.reserved.Release, nil
}

// Of a body that is refused so much is read and thrown away, for so long: most clients send all of it before they read
// the answer, and would otherwise see a connection that was reset.
const (
	maxDiscarded = 256 << 20
	discardTime  = 10 * time.Second
)

func discardBody(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	if r.Header.Get("Expect") != "" || control.SetReadDeadline(time.Now().Add(discardTime)) != nil {
		return // the client waits for the answer; or the reads would have no end
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxDiscarded) // the answer says that the body is refused
}

// NewSharedQuota makes a quota of the memory for large bodies, or of what else keys share and hold for as long as
// they like: so they must leave a part for keys that have none yet (API-15). Where there is no other key, one may have
// everything.
func NewSharedQuota(maximum int64, keys *auth.Keys) *quota.Pool {
	alone, shared := quota.UpTo(maximum), quota.Shared(maximum)
	return quota.New(func(own, all, n int64) bool {
		if !keys.Multiple() {
			return alone(own, all, n)
		}
		return shared(own, all, n)
	})
}

// MaxOfBody is the most memory that one body may reserve.
func (s *Core) MaxOfBody() int64 {
	maximum := MaxLargeBodies * int64(s.Config.MaxBody)
	if !s.Config.Keys.Multiple() {
		return maximum
	}
	return quota.MaxOfOneKey(maximum)
}

// A reservingBody reserves memory for a body as it arrives, regardless of its announced length: a
// client that sends little must not hold much (API-02).
type reservingBody struct {
	core     *Core
	ctx      context.Context
	stall    *stallTimer
	in       io.Reader
	cost     BodyCost           // of the bytes that have arrived
	reserved *quota.Reservation // empty as long as the body may be small
}

func (b *reservingBody) Read(p []byte) (int, error) {
	if b.cost.Total == b.limit() {
		if err := b.grow(); err != nil {
			return 0, err
		}
	}

	n, err := b.in.Read(p[:min(int64(len(p)), b.limit()-b.cost.Total)])
	b.cost.Add(p[:n])
	b.stall.received(n)
	if b.cost.Total > b.limit() { // the reservation does not yet cover the values in these bytes
		if err := b.grow(); err != nil {
			return 0, err
		}
	}

	return n, err
}

// limit is the size that the body may reach without a further reservation.
func (b *reservingBody) limit() int64 { return max(LargeBodyMin, b.reserved.Size()) }

// grow waits for the memory of one more step, or of all that is needed, including what has arrived
// without a reservation. The first reservation may wait as long as a request waits for a slot.
func (b *reservingBody) grow() error {
	if maximum := b.core.MaxOfBody(); b.cost.Total > maximum {
		return Problem(http.StatusRequestEntityTooLarge,
			api.Refuse(api.CodeTooLarge,
				"the request needs more than %s of memory, including the memory of its lists and objects in addition "+
					"to their texts, and large requests of one caller get no more: send fewer entries in one "+
					"request, or have the operator raise --max-body", api.Size(maximum)))
	}

	timeout := min(BodyWait, b.core.Config.Wait)
	if b.reserved.Size() == 0 {
		timeout = b.core.Config.Wait
	}

	more := max(b.cost.Total, b.limit()+min(b.limit(), bodyStep)) - b.reserved.Size()
	b.stall.pause()
	defer b.stall.start()

	err := b.reserved.Grow(b.ctx, more, timeout)
	if errors.Is(err, quota.ErrFull) {
		return Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeBusy,
				"the memory for large requests is full of other requests: send it again later, or send large inputs as blobs"))
	}

	return err
}

// ParseBody parses a body. All but small bodies are parsed one at a time, because each is in memory
// several times meanwhile and uses the processor that all requests share: 16 bodies of one key made
// others wait for seconds. The keys alternate.
func ParseBody[T any](s *Core, ctx context.Context, raw []byte, parse func([]byte) (T, error)) (v T, err error) {
	if len(raw) > LargeBodyMin {
		slot, err := s.Parsing.Take(ctx, queue.Owner{Key: CallerOf(ctx).Name})
		if err != nil {
			return v, err
		}
		defer slot.Release()
	}
	return parse(raw)
}

// ParseBodyAs parses a body with decode.Value.
func ParseBodyAs[T any](s *Core, ctx context.Context, raw []byte, what string) (T, error) {
	return ParseBody(s, ctx, raw, func(raw []byte) (T, error) { return decode.Value[T](raw, what) })
}

func tooLarge(maximum api.Size) error {
	return api.Refuse(api.CodeTooLarge,
		"the request is larger than the %s that this service accepts: send large inputs as blobs, or have the "+
			"operator raise --max-body", maximum)
}
