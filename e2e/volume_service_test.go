package e2e

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
)

// A written is what a worker was told is done.
type written struct {
	mu   sync.Mutex
	runs []string    // guarded by mu
	last map[int]int // guarded by mu; by worker
}

func (w *written) note(worker, n int, run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, run)
	w.last[worker] = n
}

func (w *written) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.runs)
}

// The service and its agent are killed in turn while execs write to a project's volume:
// whatever was answered is in the volume and in the history, and what is left of the dead
// is in nobody's way.
func TestVolumeUnderAKilledServiceAndAgent(t *testing.T) {
	a := volumeAgent(t, sharedFlags...)
	data := filepath.Join(a.dir, "gateway")
	s := launchService(t, a, data)
	defer func() { s.stop() }()
	told := &written{last: map[int]int{}}
	n := 0
	for round, victim := range []string{"service", "agent", "service", "agent"}[:2*rounds(2)] {
		id := s.keepWhenFree(t, fmt.Sprint(round))
		for worker, last := range told.last {
			got, err := strconv.Atoi(strings.TrimSpace(string(s.exec(id, fmt.Sprintf("cat /workspace/w%d", worker)).Stdout)))
			if err != nil || got < last {
				t.Errorf("round %d: worker %d finds %d, %v; want at least %d", round, worker, got, err, last)
			}
		}
		var wg sync.WaitGroup
		before := told.count()
		for worker := range 3 {
			first := n
			wg.Go(func() {
				for i := first; ; i++ {
					res, err := s.request(t.Context(), "POST", "/v1/sessions/"+id+"/exec", api.Exec{Argv: []string{"sh", "-c",
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
					told.note(worker, i, r.Run)
				}
			})
		}
		for deadline := patience(); told.count() < before+15; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("few execs are answered: %d", told.count()-before)
			}
		}
		n += 1000
		if victim == "service" {
			_ = s.cmd.Process.Kill()
			<-s.done
			wg.Wait()
			s = launchService(t, a, data)
		} else {
			a.kill()
			wg.Wait()
			a = launch(t, a.dir, a.data, sharedFlags...)
			defer a.stop()
		}
	}
	kept := map[string]bool{}
	for _, e := range pages[struct {
		Run string `json:"run_id"`
	}](s, "/v1/history?limit=1000") {
		kept[e.Run] = true
	}
	for _, id := range told.runs {
		if !kept[id] {
			t.Errorf("exec %s was answered and is not in the history", id)
		}
	}
}

// keepWhenFree makes a session with the volume as soon as what was killed has let go.
func (s *service) keepWhenFree(t testing.TB, task string) string {
	t.Helper()
	var said string
	for deadline := patience(); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		res, err := s.request(t.Context(), "POST", "/v1/sessions", keeping("p", task, api.VolumeRequest{}))
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
