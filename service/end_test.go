package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// labeledAgent is an agent whose runs last until they are canceled, with sessions and volumes.
type labeledAgent struct {
	*judging
	hold chan struct{} // creating a session waits for it; nil: no wait
	held chan struct{}
	gone chan struct{} // closed when the caller of one that waits has left

	mu       sync.Mutex
	sessions map[string]bool       // guarded by mu; false: ended
	volumes  map[string]api.Volume // guarded by mu; by name and run
}

func newLabeledAgent() *labeledAgent {
	return &labeledAgent{judging: newJudging(), sessions: map[string]bool{}, volumes: map[string]api.Volume{}}
}

func (a *labeledAgent) mux() *http.ServeMux {
	mux := a.judging.mux()
	mux.HandleFunc("POST /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		var ask api.SessionRequest
		_ = json.NewDecoder(r.Body).Decode(&ask)
		if a.hold != nil {
			a.held <- struct{}{}
			select {
			case <-a.hold:
			case <-r.Context().Done(): // as an agent does, it makes no session then
				close(a.gone)
				return
			}
		}

		a.mu.Lock()
		defer a.mu.Unlock()
		s := idleSession(fmt.Sprintf("s%d", len(a.sessions)))
		s.Labels = ask.Labels
		a.sessions[s.ID] = true
		if v := ask.Volume; v != nil {
			a.volumes[v.Name+" of "+ask.VolumeRun()] = api.Volume{Name: v.Name, Run: ask.VolumeRun(), Size: api.VolumeSize}
		}
		say(w, 201, s)
	})

	mux.HandleFunc("DELETE /v1/sessions/{id}", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.sessions[r.PathValue("id")] = false
		say(w, 200, struct{}{})
	})

	mux.HandleFunc("GET /v1/volumes", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		all := []api.Volume{}
		for _, v := range a.volumes {
			all = append(all, v)
		}
		say(w, 200, all)
	})

	mux.HandleFunc("DELETE /v1/volumes/{name}", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		key := r.PathValue("name") + " of " + r.URL.Query().Get("run")
		if _, there := a.volumes[key]; !there {
			deny(w, 404, api.Refuse(api.CodeNotFound, "no volume"))
			return
		}
		delete(a.volumes, key)
		say(w, 200, struct{}{})
	})

	return mux
}

// left are the sessions that live and the volumes that there are.
func (a *labeledAgent) left() (sessions int, volumes []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, lives := range a.sessions {
		if lives {
			sessions++
		}
	}
	for name := range a.volumes {
		volumes = append(volumes, name)
	}
	slices.Sort(volumes)
	return sessions, volumes
}

// A held run is one that waits, or is executed, until it is canceled.
func heldRun(labels string) string {
	return `{"image": "tiny", "argv": ["hold"], "labels": ` + labels + `}`
}

// All that has the label is ended: runs that wait or are executed, whether their callers wait for them or not,
// sessions, batches and temporary volumes. What has another one, or belongs to another key, stays.
func TestEndOfARun(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	agent := newLabeledAgent()
	web, _ := serveBatches(t, agent.mux(), t.TempDir(), func(c *Config) { c.Keys, c.QueuePlaces = keys, 64 })
	ann, bob := as["ann"], as["bob"]
	const x, y = `{"project": "p", "run": "x"}`, `{"project": "p", "run": "y"}`

	// The agent has 4 slots: some of these runs wait.
	statuses := map[string]string{} // paths of runs, by key and label
	for i := range 3 {
		for _, one := range []struct {
			who    []string
			name   string
			labels string
		}{{ann, "ann x", x}, {ann, "ann y", y}, {ann, "ann none", "{}"}, {bob, "bob x", x}} {
			var s api.Status
			if code := send(t, web, "POST", "/v1/runs?wait=false", heldRun(one.labels), &s, one.who...); code != 202 {
				t.Fatalf("%s: %d", one.name, code)
			}
			statuses[fmt.Sprint(one.name, " ", i)] = "/v1/runs/" + s.Run
		}
	}

	type answer struct {
		status int
		api.Result
	}
	waited := make(chan answer, 1)
	go func() {
		var a answer
		a.status = send(t, web, "POST", "/v1/runs", heldRun(x), &a.Result, ann...)
		waited <- a
	}()
	for q := web.Config.Handler.(*Gateway).core.Queue; ; time.Sleep(time.Millisecond) { // until all have come
		if s := q.Stats(); s.Held+s.Waiting == 13 {
			break
		}
	}

	session := func(who []string, labels, more string) (s api.Session) {
		t.Helper()
		body := `{"image": "tiny", "labels": ` + labels + more + `}`
		if code := send(t, web, "POST", "/v1/sessions", body, &s, who...); code != 201 {
			t.Fatalf("session: %d", code)
		}
		return s
	}
	const temporary = `, "volume": {"temporary": true}`
	mine := session(ann, x, temporary)
	session(ann, `{"project": "p2", "run": "x"}`, `, "volume": {}`)
	session(ann, `{"project": "r", "run": "y"}`, temporary)
	session(ann, `{}`, "")
	session(bob, x, temporary)

	batchX, batchY := openBatch(t, web, `{"labels": `+x+`}`, ann...), openBatch(t, web, `{"labels": `+y+`}`, ann...)
	batchBob := openBatch(t, web, `{"labels": `+x+`}`, bob...)
	addJobs(t, web, batchX, jobs("hold", 0, 5), ann...)

	end := func(who []string, body string) (e api.Ended) {
		t.Helper()
		if code := send(t, web, "POST", "/v1/end", body, &e, who...); code != 200 {
			t.Errorf("end %s: %d", body, code)
		}
		return e
	}
	if got := end(ann, `{"run": "x", "project": "q"}`); got != (api.Ended{}) {
		t.Errorf("the project has nothing of the run: %+v ended", got)
	}
	if got := end(ann, `{"run": "x"}`); got != (api.Ended{Runs: 4, Sessions: 2, Batches: 1, Volumes: 1}) {
		t.Errorf("ended %+v", got)
	}
	if got := end(ann, `{"run": "x"}`); got != (api.Ended{}) {
		t.Errorf("ended once more: %+v", got)
	}

	if a := <-waited; a.status != 200 || a.Verdict != api.Canceled || a.Labels.Run != "x" || a.Run == "" {
		t.Errorf("the caller that waited got %d, %+v", a.status, a.Result)
	}
	for name, path := range statuses {
		var s api.Status
		who := ann
		if strings.HasPrefix(name, "bob") {
			who = bob
		}
		send(t, web, "GET", path, "", &s, who...)
		if ended := s.Result != nil && s.Result.Verdict == api.Canceled; ended != strings.HasPrefix(name, "ann x") {
			t.Errorf("%s is %s, %+v", name, s.State, s.Result)
		}
	}

	if n, volumes := agent.left(); n != 3 || !slices.Equal(volumes, []string{"ann/p2 of ", "ann/r of y", "bob/p of x"}) {
		t.Errorf("%d sessions and the volumes %q are left", n, volumes)
	}
	var p api.Problem
	if code := send(t, web, "GET", "/v1/sessions/"+mine.ID, "", &p, ann...); code != 410 ||
		!strings.Contains(p.Detail, `run "x" was ended`) {
		t.Errorf("the ended session: %d, %+v", code, p)
	}
	for path, want := range map[string]api.BatchState{batchX: api.BatchCanceled, batchY: api.BatchOpen} {
		var b api.Batch
		if send(t, web, "GET", path, "", &b, ann...); b.State != want {
			t.Errorf("%s is %s, want %s", path, b.State, want)
		}
	}
	var b api.Batch
	if send(t, web, "GET", batchBob, "", &b, bob...); b.State != api.BatchOpen {
		t.Errorf("bob's batch is %s", b.State)
	}

	var page api.Page[api.Record]
	send(t, web, "GET", "/v1/history?run=x", "", &page, ann...)
	other := func(r api.Record) bool { return r.Run != "x" || r.Verdict != api.Canceled }
	if len(page.Items) < 4 || slices.ContainsFunc(page.Items, other) {
		t.Errorf("history: %+v", page.Items)
	}

	for _, body := range []string{`{"run": "y"}`, `{"run": "none"}`} {
		end(ann, body)
	}
	end(bob, `{"run": "x"}`)
	close(agent.judging.hold)

}

// A session that is still being created is ended, too.
func TestEndOfASessionThatIsBeingCreated(t *testing.T) {
	agent := newLabeledAgent()
	agent.hold, agent.held, agent.gone = make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
	web := serveFake(t, agent.mux(), nil)
	made := make(chan int)
	go func() {
		made <- send(t, web, "POST", "/v1/sessions", `{"image": "tiny", "labels": {"run": "x"}}`, nil)
	}()
	<-agent.held

	var e api.Ended
	if code := send(t, web, "POST", "/v1/end", `{"run": "x"}`, &e); code != 200 || e.Sessions != 1 {
		t.Errorf("ended: %d, %+v", code, e)
	}
	if s := <-made; s != 410 {
		t.Errorf("made: %d", s)
	}
	<-agent.gone
	if n, _ := agent.left(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// A client that leaves while its session waits for room ends the request in the agent, and nothing is left of it: the
// same project and task can have a session.
func TestAClientLeavesWhileItsSessionWaits(t *testing.T) {
	agent := newLabeledAgent()
	agent.hold, agent.held, agent.gone = make(chan struct{}), make(chan struct{}, 2), make(chan struct{})
	web := serveFake(t, agent.mux(), nil)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(ctx, "POST", web.URL+"/v1/sessions", strings.NewReader(made))
		if err == nil {
			r.Header.Set("Content-Type", "application/json")
			_, err = http.DefaultClient.Do(r) //nolint:bodyclose // it fails
		}
		left <- err
	}()

	<-agent.held
	leave()
	<-agent.gone
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the client's error: %v", err)
	}

	close(agent.hold)
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Errorf("the next session of the task: %d", s)
	}
	if n, _ := agent.left(); n != 1 {
		t.Errorf("%d sessions", n)
	}
}
