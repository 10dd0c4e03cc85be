package service

import (
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A result that was returned is in the history, whichever process is killed.
func TestGatewayKilled(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	data := filepath.Join(a.Dir, "gateway")
	s := harness.LaunchService(t, a, data)
	var mu sync.Mutex
	var reported []string
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				res, err := s.Request(t.Context(), "POST", "/v1/runs", harness.Sh("true"))
				if err != nil {
					return
				}

				var r api.Result
				err = json.NewDecoder(res.Body).Decode(&r)
				res.Body.Close()
				if err != nil {
					return
				}

				mu.Lock()
				reported = append(reported, r.Run)
				mu.Unlock()
			}
		})
	}

	for deadline := harness.Patience(); ; time.Sleep(5 * time.Millisecond) {
		mu.Lock()
		n := len(reported)
		mu.Unlock()
		if n > 50 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("few runs are answered")
		}
	}

	_ = s.Cmd.Process.Kill()
	<-s.Done
	wg.Wait()
	s = harness.LaunchService(t, a, data)
	kept := map[string]bool{}
	for _, e := range harness.Pages[struct {
		Run string `json:"run_id"`
	}](s, "/v1/history?limit=1000") {
		kept[e.Run] = true
	}

	for _, id := range reported {
		if !kept[id] {
			t.Errorf("run %s was answered and is not in the history", id)
		}
	}

	// Without its agent the service reports that it is not ready, and resumes when there is an
	// agent again.
	running := s.StartDetached(harness.Sh("sleep 60"))
	s.Listen(running, "", func(e harness.StreamEvent) bool { return e.Name != "started" })
	a.Kill()
	if st := s.WaitDone(running); st.Error == nil || st.Error.Code != api.CodeAgentGone {
		t.Errorf("a run whose agent was killed: %+v", st)
	}

	s.Refused("POST", "/v1/runs", harness.Sh("true"), 503, api.CodeAgentUnreachable)
	s.Call("GET", "/health/ready", nil, 503, nil) // known from now on
	s.Call("GET", "/health/live", nil, 200, nil)
	b := harness.Launch(t, a.Dir, a.Data, harness.SharedFlags...)
	defer b.Stop()

	var res api.Result
	s.Call("POST", "/v1/runs", harness.Sh("echo again"), 200, &res)
	harness.WantVerdict(t, res, api.OK)
}
