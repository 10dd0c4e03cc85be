package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

const (
	bigBody = 1 << 20 // a smaller one is bounded by the places in the queue
	bodies  = 8       // as many of the largest fit into memory
)

// readBody reads a request's body whole. There is room for only so many bytes of large
// ones, from their reading until the caller calls release, which is when the run has
// ended: many callers together must not fill the memory, not even while they wait.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request) (raw []byte, release func(), err error) {
	most := int64(g.cfg.MaxBody)
	held := int64(0)
	switch {
	case r.Header.Get("Content-Encoding") != "":
		return nil, nil, problem(http.StatusUnsupportedMediaType, api.Refuse(api.CodeBadRequest, "a compressed body is not taken: send plain JSON"))
	case r.ContentLength > most:
		return nil, nil, tooLarge(g.cfg.MaxBody)
	case r.ContentLength > bigBody:
		held = r.ContentLength
	case r.ContentLength < 0:
		held = most
	}
	if err := g.hold(r.Context(), held); err != nil {
		return nil, nil, err
	}
	raw, err = io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	keep := min(held, int64(len(raw)))
	if err != nil || keep <= bigBody {
		keep = 0
	}
	g.room.Release(held - keep)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, nil, tooLarge(g.cfg.MaxBody)
	case err != nil:
		return nil, nil, api.Refuse(api.CodeBadRequest, "the request broke off: %w", err)
	}
	return raw, func() { g.room.Release(keep) }, nil
}

// hold waits for room for so many bytes.
func (g *Gateway) hold(ctx context.Context, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	wait, enough := context.WithTimeout(ctx, g.cfg.Wait)
	defer enough()
	err := g.room.Acquire(wait, bytes)
	if err != nil && ctx.Err() == nil {
		p := problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy, "other large requests fill the memory that is set aside for them: send it again later, or send large inputs as blobs"))
		p.RetryAfter = 1
		return p
	}
	return err
}

func tooLarge(most api.Size) error {
	return api.Refuse(api.CodeTooLarge, "the request is larger than the %s this service takes: send large inputs as blobs, or have the operator raise --max-body", most)
}
