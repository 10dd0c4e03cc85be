package gateway

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// API-15: callers whose answers do not come, because they take nothing of the output,
// keep no turn longer than their programs can run.
func TestTurnsComeBackWithoutAnAnswer(t *testing.T) {
	var stuck atomic.Int64
	mux := http.NewServeMux()
	end := make(chan struct{})
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		if stuck.Add(1) <= 4 { // all its slots
			<-end
		}
		say(w, 200, api.Result{Verdict: api.OK})
	})
	web := serveFake(t, mux, nil)
	done := make(chan int, 4)
	const short = `{"language":"x","source":"y","limits":{"wall":"100ms"},"compile_limits":{"wall":"100ms"}}`
	for range 4 {
		go func() { done <- send(t, web, "POST", "/v1/runs", short, nil) }()
	}
	for deadline := time.Now().Add(30 * time.Second); stuck.Load() < 4; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d runs are asked of the agent", stuck.Load())
		}
	}
	var res api.Result
	if status := send(t, web, "POST", "/v1/runs", short, &res); status != 200 || res.Verdict != api.OK || res.Timing.Queued < int64(turnSlack/2) {
		t.Errorf("one more: %d, %+v", status, res)
	}
	close(end)
	for range 4 {
		if status := <-done; status != 200 {
			t.Errorf("one that was stuck: %d", status)
		}
	}
}
