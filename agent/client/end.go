package client

import (
	"context"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// End ends the calling user's runs, sessions and temporary volumes that e names, and returns when they have
// ended. To end nothing is no error.
func (c *Client) End(ctx context.Context, e api.EndRequest) (ended api.Ended, err error) {
	if err := e.Validate(); err != nil {
		return ended, err
	}
	err = c.call(ctx, http.MethodPost, "/v1/end", e, &ended)
	return ended, err
}
