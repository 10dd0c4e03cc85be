package sessions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A confirmed is what the service has confirmed to each worker.
type confirmed struct {
	mu   sync.Mutex
	runs []string    // guarded by mu
	last map[int]int // guarded by mu; by worker
}

func (w *confirmed) note(worker, n int, run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, run)
	w.last[worker] = n
}

func (w *confirmed) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.runs)
}

// The service and its agent are killed in turn while execs write to a project's volume: every
// answered exec is in the volume and in the history, and what the killed processes leave disturbs
// no one.
func TestVolumeSurvivesAKilledServiceAndAgent(t *testing.T) {
	a := harness.VolumeAgent(t, harness.SharedFlags...)
	data := filepath.Join(a.Dir, "gateway")
	s := harness.LaunchService(t, a, data)
	acknowledged := &confirmed{last: map[int]int{}}
	n := 0
	for round, victim := range []string{"service", "agent", "service", "agent"}[:2*harness.Rounds(2)] {
		id := retryVolumeSession(t, s, fmt.Sprint(round))
		for worker, last := range acknowledged.last {
			got, err := strconv.Atoi(strings.TrimSpace(string(s.ExecIn(id, fmt.Sprintf("cat /workspace/w%d", worker)).Stdout)))
			if err != nil || got < last {
				t.Errorf("round %d: worker %d finds %d, %v; want at least %d", round, worker, got, err, last)
			}
		}

		var wg sync.WaitGroup
		before := acknowledged.count()

		for worker := range 3 {
			first := n
			wg.Go(func() {
				for i := first; ; i++ {
					res, err := s.Send(t.Context(), "POST", "/v1/sessions/"+id+"/exec", api.Exec{Argv: []string{"sh", "-c",
						fmt.Sprintf("cd /workspace && echo %d >new%d && sync && mv new%[2]d w%[2]d && sync", i, worker)}})
					if err != nil {
						return
					}
					var r api.Result
					err = json.NewDecoder(res.Body).Decode(&r)
					res.Body.Close()
					if err != nil || res.StatusCode != http.StatusOK || r.Verdict != api.OK {
						return
					}
					acknowledged.note(worker, i, r.Run)
				}
			})
		}

		for deadline := harness.Patience(); acknowledged.count() < before+15; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("few execs are answered: %d", acknowledged.count()-before)
			}
		}

		n += 1000
		if victim == "service" {
			_ = s.Cmd.Process.Kill()
			<-s.Done
			wg.Wait()
			s = harness.LaunchService(t, a, data)
		} else {
			a.Kill()
			wg.Wait()
			a = harness.Launch(t, a.Dir, a.Data, harness.SharedFlags...)
			defer a.Stop()
		}
	}

	kept := map[string]bool{}
	for _, e := range harness.Pages[struct {
		Run string `json:"run_id"`
	}](s, "/v1/history?limit=1000") {
		kept[e.Run] = true
	}

	for _, id := range acknowledged.runs {
		if !kept[id] {
			t.Errorf("exec %s was answered and is not in the history", id)
		}
	}
}

// retryVolumeSession creates a session with the volume as soon as the killed processes have released it.
func retryVolumeSession(t testing.TB, s *harness.Service, task string) string {
	t.Helper()
	var said string
	for deadline := harness.Patience(); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		res, err := s.Request(t.Context(), "POST", "/v1/sessions", volumeSessionRequest("p", task, api.VolumeRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		var made api.Session
		err = json.NewDecoder(res.Body).Decode(&made)
		res.Body.Close()
		if err == nil && res.StatusCode == http.StatusCreated {
			return made.ID
		}
		said = res.Status
	}

	t.Fatalf("no session: %s", said)
	return ""
}
