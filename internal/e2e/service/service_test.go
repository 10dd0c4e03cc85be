package service

import (
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// runOverHTTP sends a run for a waiting caller, and delivers the response's status; zero if there was no
// response.
func runOverHTTP(s *harness.Service, r api.Run) <-chan int {
	status := make(chan int, 1)
	go func() {
		res, err := s.Request(s.T.Context(), "POST", "/v1/runs", r)
		if err != nil {
			status <- 0
			return
		}
		res.Body.Close()
		status <- res.StatusCode
	}()
	return status
}
