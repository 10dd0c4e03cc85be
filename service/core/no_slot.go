package core

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// NoSlotError returns the reason why the request did not get a slot.
func (s *Core) NoSlotError(ctx, wait context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.Stopping.Err() != nil && errors.Is(context.Cause(wait), ErrStop):
		return ErrStopping()
	case wait.Err() != nil:
		longest := s.Config.Wait
		if limit, is := errors.AsType[WaitTimeout](context.Cause(wait)); is {
			longest = time.Duration(limit)
		}
		why := api.Fail(api.CodeQueueTimeout,
			"no slot was free within %v: send the run again later, or have the operator raise --wait or add slots", longest)
		var last *api.Error
		if errors.As(err, &last) && last.Code == api.CodeBusy {
			why = api.Fail(api.CodeQueueTimeout,
				"the agent had no free slot for the run within %v (%s): send it again later, or have the operator "+
					"raise --wait or add slots", longest, last.Message)
		}
		if last != nil && last.Code == api.CodeOverloaded {
			why = api.Fail(api.CodeQueueTimeout,
				"no memory could be reserved within %v (%s): end sessions, ask for less, or have the operator limit "+
					"the sessions of each key, or raise brigd --memory", longest, last.Message)
		}
		return Problem(http.StatusServiceUnavailable, why)
	}

	return err
}

// ErrStop is why a job waits no longer for a slot.
var ErrStop = errors.New("the service stops")

// ErrStopping refuses a run while the service stops.
func ErrStopping() error {
	return api.Fail(api.CodeStopping, "the service is stopping: send the run again later")
}

// A WaitTimeout is why a request waits no longer for a slot: it has waited so long.
type WaitTimeout time.Duration

func (w WaitTimeout) Error() string { return "waited " + time.Duration(w).String() }

const (
	MaxRetryPause     = 50 * time.Millisecond // the longest pause between two attempts
	MaxSlowRetryPause = time.Second           // the same, for a request that takes long to send
)

// maxAgentWait is the longest wait for a slot that the service asks the agent for at once.
const maxAgentWait = 10 * time.Second

// WaitInAgent is how long a request waits in the agent, in line with the requests of others, if it waits here
// until the end of a context.
func WaitInAgent(wait context.Context) time.Duration {
	if end, limited := wait.Deadline(); limited {
		return min(maxAgentWait, max(time.Until(end), 0))
	}
	return maxAgentWait
}
