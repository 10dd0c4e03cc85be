package batches

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/quota"
)

const (
	linesMemory = 3 * MaxLine     // of a request that sends jobs: a line while it is read, and its values
	linesPause  = 2 * time.Minute // after which a client that sends nothing is cut off
)

// A lineBody is a body with lines of jobs. It may be of any length, and take any time as long as lines come.
type lineBody struct {
	io.Reader
	out      *http.ResponseController
	reserved *quota.Reservation
	slot     func()
	err      error // of the last read; nil, or io.EOF at the end
}

// openLines begins to read the lines of a request. The caller closes the body.
func (bs *Batches) openLines(w http.ResponseWriter, r *http.Request) (*lineBody, error) {
	slot, err := bs.UploadSlot(r)
	if err != nil {
		return nil, err
	}

	b := &lineBody{Reader: r.Body, out: http.NewResponseController(w), slot: slot,
		reserved: bs.BodyQuota.Reserve(core.CallerOf(r.Context()).Name, 0)}
	err = b.reserved.Grow(r.Context(), min(linesMemory, bs.MaxOfBody()), bs.Config.Wait)
	if errors.Is(err, quota.ErrFull) {
		err = core.Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeBusy, "the memory for large requests is full of other requests: send the jobs again later"))
	}
	if err != nil {
		slot()
		return nil, err
	}
	return b, nil
}

func (b *lineBody) close() {
	b.reserved.Release()
	b.slot()
}

// Read implements io.Reader.
func (b *lineBody) Read(p []byte) (n int, err error) {
	if b.err != nil {
		return 0, b.err
	}
	_ = b.out.SetReadDeadline(time.Now().Add(linesPause)) // fails only if the connection is closed
	n, b.err = b.Reader.Read(p)
	return n, b.err
}

// broken reports whether the client has left before the end of its lines.
func (b *lineBody) broken() bool { return b.err != nil && !errors.Is(b.err, io.EOF) }

// reason says why jobs could not be taken.
func (b *lineBody) reason(err error) error {
	var own *api.Error
	switch {
	case !b.broken() || errors.As(err, &own):
		return err
	case errors.Is(b.err, os.ErrDeadlineExceeded):
		return core.Problem(http.StatusRequestTimeout,
			api.Fail(api.CodeBadRequest,
				"no line came for %v: those before it were taken; send all again, with the same ids", linesPause))
	case errors.Is(b.err, context.Canceled):
		return err
	}
	return api.Refuse(api.CodeBadRequest, "the lines ended early: %w", err)
}
