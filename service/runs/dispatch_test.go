package runs

import (
	"testing"
	"time"

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
