package client

import (
	"context"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// End ends the runs, sessions, batches and temporary volumes of the key that e names, and returns when they
// have ended. To end nothing is no error, so that it may be called again.
func (c *Client) End(ctx context.Context, e api.EndRequest) (ended api.Ended, err error) {
	if err := e.Validate(); err != nil {
		return ended, err
	}
	return ended, c.call(ctx, http.MethodPost, "/v1/end", e, &ended)
}
