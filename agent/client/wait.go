package client

import (
	"context"
	"strconv"
	"time"

	"github.com/brig-sandbox/brig/api"
)

type waitKey struct{}

// WithWait makes calls with the context that need a slot, or room for a session, wait so long for it in the agent, in
// the order of their arrival; at most api.MaxSlotWait. Zero: api.SlotWait.
func WithWait(ctx context.Context, wait time.Duration) context.Context {
	return context.WithValue(ctx, waitKey{}, min(wait, api.MaxSlotWait))
}

// waitHeader is the header that asks for the wait, with the end of its line, or empty.
func waitHeader(ctx context.Context) string {
	wait, _ := ctx.Value(waitKey{}).(time.Duration)
	if wait <= 0 {
		return ""
	}
	seconds := (wait + time.Second - 1) / time.Second
	return "Prefer: wait=" + strconv.FormatInt(int64(seconds), 10) + "\r\n"
}
