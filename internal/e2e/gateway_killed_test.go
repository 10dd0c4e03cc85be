package e2e

import (
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A result that was returned is in the history, whichever process is killed.
func TestGatewayKilled(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	data := filepath.Join(a.dir, "gateway")
	s := launchService(t, a, data)
	var mu sync.Mutex
	var reported []string
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				res, err := s.request(t.Context(), "POST", "/v1/runs", sh("true"))
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

	for deadline := patience(); ; time.Sleep(5 * time.Millisecond) {
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

	_ = s.cmd.Process.Kill()
	<-s.done
	wg.Wait()
	s = launchService(t, a, data)
	kept := map[string]bool{}
	for _, e := range pages[struct {
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
	running := s.startDetached(sh("sleep 60"))
	s.listen(running, "", func(e streamEvent) bool { return e.name != "started" })
	a.kill()
	if st := s.waitDone(running); st.Error == nil || st.Error.Code != api.CodeAgentGone {
		t.Errorf("a run whose agent was killed: %+v", st)
	}

	s.refused("POST", "/v1/runs", sh("true"), 503, api.CodeAgentUnreachable)
	s.call("GET", "/health/ready", nil, 503, nil) // known from now on
	s.call("GET", "/health/live", nil, 200, nil)
	b := launch(t, a.dir, a.data, sharedFlags...)
	defer b.stop()

	var res api.Result
	s.call("POST", "/v1/runs", sh("echo again"), 200, &res)
	wantVerdict(t, res, api.OK)
}
