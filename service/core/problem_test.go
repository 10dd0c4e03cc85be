package core

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// Requests that get the same error get each a problem of their own.
func TestRequestsShareNoProblem(t *testing.T) {
	s := New(Config{}.WithDefaults())
	shared := Problem(http.StatusTooManyRequests, api.Fail(api.CodeQueueFull, "later"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if p := s.problemOf(shared); p == shared || p.RetryAfter != 1 || p.Code != api.CodeQueueFull {
				t.Errorf("%p: %+v of %p", p, p, shared)
			}
		})
	}
	all.Wait()
}

// A client that has left is no failure of brig, wherever the end of its request is noticed. A code of the agent says more.
func TestAClientThatHasLeftIsNoFailure(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
		code   api.Code
		ours   bool
	}{
		{context.Canceled, 499, api.CodeCanceled, false},
		{fmt.Errorf("read the result: %w", context.Canceled), 499, api.CodeCanceled, false},
		{OfRun("r1", context.Canceled), 499, api.CodeCanceled, false},
		{context.DeadlineExceeded, 500, api.CodeInternal, true},
		{api.Fail(api.CodeAgentGone, "the agent: %w", context.Canceled), 502, api.CodeAgentGone, true},
	} {
		p, ours := ProblemFor(tt.err)
		if p.Status != tt.status || p.Code != tt.code || ours != tt.ours {
			t.Errorf("%v: %d %s, ours %v; want %d %s, %v", tt.err, p.Status, p.Code, ours, tt.status, tt.code, tt.ours)
		}
	}
}
