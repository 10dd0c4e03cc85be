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
		name             string
		takes            time.Duration
		minimum, maximum int64
	}{
		{"soon read", 0, 15, 80}, // in 2 s, each 50 ms
		{"long to read", api.SlotWait + 100*time.Millisecond, 2, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tries atomic.Int64
			mux := http.NewServeMux()
			mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
				tries.Add(1)
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					t.Error(err)
				}
				time.Sleep(tt.takes)
				deny(w, 503, api.Fail(api.CodeBusy, "there is no memory for results"))
			})

			web := serveFake(t, mux, func(c *Config) { c.Wait = 2 * time.Second })
			var p api.Problem
			if s := send(t, web, "POST", "/v1/runs", simple, &p); s != 503 || p.Code != api.CodeQueueTimeout ||
				!strings.Contains(p.Detail, "no memory for results") {
				t.Errorf("%d, %+v", s, p)
			}
			if n := tries.Load(); n < tt.minimum || n > tt.maximum {
				t.Errorf("sent %d times in 2 s; want %d to %d times", n, tt.minimum, tt.maximum)
			}
		})
	}
}
