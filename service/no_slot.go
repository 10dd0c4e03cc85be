package service

import (
	"context"
	"errors"
	"net/http"

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
