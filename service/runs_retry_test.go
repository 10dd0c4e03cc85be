package service

import (
	"testing"
	"time"
)

// The pause after a refused attempt grows with the time that sending it took.
func TestRetryPause(t *testing.T) {
	if got := retryPause(maxRetryPause, 10*time.Second, 10*time.Second); got != maxRetryPause {
		t.Errorf("after a wait in the agent: %v; want %v", got, maxRetryPause)
	}

	for took, want := range map[time.Duration]time.Duration{0: maxRetryPause, 10 * time.Millisecond: maxRetryPause,
		100 * time.Millisecond: 400 * time.Millisecond, time.Minute: time.Second} {
		if got := retryPause(maxRetryPause, took, 2*time.Minute); got != want {
			t.Errorf("after a try of %v: %v; want %v", took, got, want)
		}
	}
}
