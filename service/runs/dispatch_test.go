package runs

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// The pause after a refused attempt grows with the time that sending it took.
func TestRetryPause(t *testing.T) {
	if got := retryPause(core.MaxRetryPause, 10*time.Second, 10*time.Second); got != core.MaxRetryPause {
		t.Errorf("after a wait in the agent: %v; want %v", got, core.MaxRetryPause)
	}

	for took, want := range map[time.Duration]time.Duration{0: core.MaxRetryPause, 10 * time.Millisecond: core.MaxRetryPause,
		100 * time.Millisecond: 400 * time.Millisecond, time.Minute: time.Second} {
		if got := retryPause(core.MaxRetryPause, took, 2*time.Minute); got != want {
			t.Errorf("after a try of %v: %v; want %v", took, got, want)
		}
	}
}

// What breaks because the request has ended is no failure of the agent; a failure of another kind stays one.
func TestOutcomeAfterTheEnd(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	gone := api.Fail(api.CodeAgentGone, "the connection broke: %w", io.ErrUnexpectedEOF)
	for _, tt := range []struct {
		err            error
		canceled, left bool
	}{
		{nil, false, false},
		{context.Canceled, true, true},
		{gone, true, true},
		{core.OfRun("r1", gone), true, true},
		{api.Fail(api.CodeAgentUnreachable, "connect: refused"), true, false},
		{api.Fail(api.CodeStopping, "canceled while a cell was being made"), true, false},
		{api.Fail(api.CodeInternal, "a fault"), false, false},
		{api.Fail(api.CodeCheckFailed, "the checker crashed"), false, false},
	} {
		if got := errors.Is(outcomeError(ended, tt.err), context.Canceled); got != tt.canceled {
			t.Errorf("after the end, %v: canceled %v; want %v", tt.err, got, tt.canceled)
		}
		if got := leftDuring(ended, tt.err); got != tt.left {
			t.Errorf("after the end, %v: left %v; want %v", tt.err, got, tt.left)
		}
		if got := outcomeError(t.Context(), tt.err); got != tt.err {
			t.Errorf("before the end, %v: %v", tt.err, got)
		}
	}
}
