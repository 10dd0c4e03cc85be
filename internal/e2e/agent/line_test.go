package agent

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Clients that vanish, or do not come again after a refusal, keep nobody waiting: requests that wait in the
// agent are served in turn, small ones and ones that need most of its memory for results. When the agent had
// no line, places of such clients blocked everybody else, with nothing leased.
func TestClientsThatVanishKeepNobodyWaiting(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2", "--memory", "3G")
	ask := func(collect api.Size) api.Run {
		r := harness.Sh("sleep 0.02")
		r.Limits.Memory = 64 * api.MiB
		r.Collect = api.Collect{Globs: []string{"*"}, Bytes: collect}
		return r
	}

	crowd, end := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := 0; crowd.Err() == nil; n++ {
				ctx, vanish := context.WithTimeout(crowd, time.Duration(10+(37*n+11*i)%150)*time.Millisecond)
				_, _ = a.Run(ctx, ask(api.Size(200+(7*n+i)%56)*api.MiB)) // each needs another amount
				vanish()
			}
		})
	}

	waiting := client.WithWait(t.Context(), time.Minute)
	for range 10 {
		for _, collect := range []api.Size{api.MiB, 250 * api.MiB} {
			begun := time.Now()
			res, err := a.Run(waiting, ask(collect))
			if err != nil {
				t.Fatalf("collect %s: %v after %v", collect, err, time.Since(begun))
			}
			harness.WantVerdict(t, res, api.OK)
		}
	}

	end()
	all.Wait()
	harness.Eventually(t, "no slot to be leased", func() bool {
		h, err := a.Health(t.Context())
		return err == nil && h.Leased == 0 && h.Memory == 0
	})
}
