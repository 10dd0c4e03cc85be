package runs

import (
	"context"
	"errors"

	"github.com/brig-sandbox/brig/api"
)

// errCutOff is in the error of a run that ended because the service or the agent did, such as for an
// upgrade. The history has it, so that nobody takes it for a run that its caller canceled.
var errCutOff = errors.New("the run was cut off")

// cutOff returns the error of a run that nobody canceled and that has no outcome of its own; nil: it has.
func (rs *Runs) cutOff(ctx context.Context, res api.Result, err error) error {
	canceled := err == nil && res.Verdict == api.Canceled && res.SessionEnded == ""
	switch {
	case rs.Kill.Err() != nil && (canceled || errors.Is(err, context.Canceled)):
		return api.Fail(api.CodeStopping, "%w: the service stopped before its end; send it again", errCutOff)
	case canceled && ctx.Err() == nil:
		return api.Fail(api.CodeStopping, "%w: the agent stopped before its end; send it again", errCutOff)
	}
	return nil
}
