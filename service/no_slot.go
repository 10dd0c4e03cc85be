package service

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// noSlotError returns the reason why the request did not get a slot.
func (s *core) noSlotError(ctx, wait context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.stopping.Err() != nil && errors.Is(context.Cause(wait), errStop):
		return errStopping()
	case wait.Err() != nil:
		why := api.Fail(api.CodeQueueTimeout,
			"no slot was free within %v: send the run again later, or have the operator raise --wait or add slots", s.cfg.Wait)
		var last *api.Error
		if errors.As(err, &last) && last.Code == api.CodeBusy {
			why = api.Fail(api.CodeQueueTimeout,
				"the agent had no free slot for the run within %v (%s): send it again later, or have the operator raise --wait or add slots", s.cfg.Wait, last.Message)
		}
		if last != nil && last.Code == api.CodeOverloaded {
			why = api.Fail(api.CodeQueueTimeout,
				"no memory could be reserved within %v (%s): end sessions, ask for less, or have the operator limit the sessions of each key, or raise brigd --memory", s.cfg.Wait, last.Message)
		}
		return problem(http.StatusServiceUnavailable, why)
	}

	return err
}

var errStop = errors.New("the service stops")

func errStopping() error {
	return api.Fail(api.CodeStopping, "the service is stopping: send the run again later")
}

var errWaitTimeout = errors.New("waited too long")

const (
	maxRetryPause     = 50 * time.Millisecond // the longest pause between two attempts
	maxSlowRetryPause = time.Second           // the same, for a request that takes long to send
)

// maxAgentWait is the longest wait for a slot that the gateway asks the agent for at once.
const maxAgentWait = 10 * time.Second

// waitInAgent is how long a request waits in the agent, in line with the requests of others, if it waits here
// until the end of a context.
func waitInAgent(wait context.Context) time.Duration {
	if end, limited := wait.Deadline(); limited {
		return min(maxAgentWait, max(time.Until(end), 0))
	}
	return maxAgentWait
}
