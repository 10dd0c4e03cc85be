package core

import (
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
