package runtime

import (
	"errors"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// isUserError reports whether the caller, or the program's author, can fix the cause of an error. Such
// an error says nothing bad about the cell.
func isUserError(err error) bool {
	var e *api.Error
	var artifact *invalidArtifact
	var source *plan.InvalidSource
	return errors.As(err, &artifact) || errors.As(err, &source) || errors.As(err, &e) && !e.RetrySafe
}

// apiError gives every failure a stable code. An error without a code is an internal one.
func apiError(err error, run string) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		out := *e
		out.Run = run
		return &out
	}
	out := api.Fail(api.CodeInternal, "%w", err)
	out.Run = run
	return out
}
