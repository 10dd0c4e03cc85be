package caller

import (
	"context"
	"errors"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// The first and the longest pause between two tries while every slot is busy, and the delay before
// the user gets a note.
const (
	minRetryPause = 5 * time.Millisecond
	maxRetryPause = 100 * time.Millisecond
	noteDelay     = time.Second
)

// Retry lets the request wait in the agent, in the order of arrival, until the agent accepts it or wait is over.
// note is called once if that takes longer than noteDelay; nil: none. An agent refuses before it has read any input,
// so a retry is safe.
func Retry[T any](ctx context.Context, wait time.Duration, note func(why string),
	attempt func(context.Context) (T, error)) (T, error) {
	start, noted := time.Now(), note == nil
	for pause := minRetryPause; ; pause = min(2*pause, maxRetryPause) {
		ask := wait - time.Since(start)
		if !noted {
			ask = min(ask, noteDelay) // only the refusal says why
		}

		res, err := attempt(client.WithWait(ctx, ask))
		why := busyReason(err)
		if why == "" || time.Since(start)+pause > wait {
			return res, err
		}
		if !noted && time.Since(start) >= noteDelay {
			noted = true
			note(why)
		}

		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return res, context.Cause(ctx)
		}
	}
}

// busyReason names the resource that others hold and will release. It is empty if waiting does not
// help.
func busyReason(err error) string {
	var e *api.Error
	switch {
	case !errors.As(err, &e):
		return ""
	case e.Code == api.CodeBusy:
		return "every slot is busy"
	case e.Code == api.CodeOverloaded:
		return "the memory is reserved by others"
	case e.Code == api.CodeSessionsFull:
		return "the agent has its maximum of sessions"
	}
	return ""
}
