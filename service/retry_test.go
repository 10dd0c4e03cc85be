package service

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A waiting request that takes long to send and parse is sent again less often: each refused
// attempt took 63 % of a processor of the agent. The final error names the reason why it was
// refused.
func TestALargeRequestIsSentAgainLessOften(t *testing.T) {
	for _, tt := range []struct {
		name    string
		takes   time.Duration // to read it
		wait    time.Duration
		refused int64         // so many times
		status  int           // in the end
		least   time.Duration // until then
		maximum int64         // of tries
	}{
		{"soon read", 0, time.Minute, 20, 200, 500 * time.Millisecond, 21}, // after 63 ms, each 50 ms
		{"long to read", api.SlotWait + 100*time.Millisecond, 2 * time.Second, 1000, 503, 0, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tries atomic.Int64
			mux := http.NewServeMux()
			mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
				n := tries.Add(1)
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					t.Error(err)
				}
				if n > tt.refused {
					say(w, 200, api.Result{Verdict: api.OK})
					return
				}
				time.Sleep(tt.takes)
				deny(w, 503, api.Fail(api.CodeBusy, "there is no memory for results"))
			})

			web := serveFake(t, mux, func(c *Config) { c.Wait = tt.wait })
			began := time.Now()
			var p api.Problem
			s := send(t, web, "POST", "/v1/runs", simple, &p)
			if s != tt.status || s == 503 && (p.Code != api.CodeQueueTimeout || !strings.Contains(p.Detail, "no memory for results")) {
				t.Errorf("%d, %+v; want %d", s, p, tt.status)
			}
			if n, took := tries.Load(), time.Since(began); n > tt.maximum || took < tt.least {
				t.Errorf("sent %d times in %v; want %d times at most, in %v at least", n, took, tt.maximum, tt.least)
			}
		})
	}
}
