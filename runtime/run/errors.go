package run

import (
	"errors"
	"log/slog"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// isUserError reports whether the caller, or the program's author, can fix the cause of an error. Such
// an error says nothing bad about the cell.
func isUserError(err error) bool {
	var e *api.Error
	var artifact *plan.InvalidArtifact
	var source *plan.InvalidSource
	return errors.As(err, &artifact) || errors.As(err, &source) || errors.As(err, &e) && !e.RetrySafe
}

// ToAPIError converts an error to an API error with a code, and logs the details that the caller
// does not get.
func ToAPIError(log *slog.Logger, err error, run string) *api.Error {
	if short := exhaustion(err); short != nil {
		log.Error("the host is exhausted", "run", run, "err", err)
		err = short
	}
	return APIError(err, run)
}

// APIError gives every failure a stable code. An error without a code is an internal one.
func APIError(err error, run string) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		out := *e
		out.Run = run
		return &out
	}
	if errors.Is(err, cgroups.ErrUnsupported) { // the request has a limit that this host cannot apply
		out := api.Refuse(api.CodeUnsupported, "%w: leave that limit out, or have the operator switch it on", err)
		out.Run = run
		return out
	}

	out := api.Fail(api.CodeInternal, "%w", err)
	out.Run = run
	return out
}
