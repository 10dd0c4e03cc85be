package service

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
)

// heldAgent returns an agent with so many slots that answers no run until end is called. begun counts
// the runs that have reached it.
func heldAgent(slots int) (mux *http.ServeMux, begun *atomic.Int64, end func()) {
	mux, begun = http.NewServeMux(), new(atomic.Int64)
	over := make(chan struct{})
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: slots}) })
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		begun.Add(1)
		<-over
		say(w, 200, api.Result{Verdict: api.OK})
	})
	return mux, begun, func() { close(over) }
}

const simple = `{"image":"tiny","argv":["true"]}`

// wantRetryLater sends a request that must be refused with the advice to retry, and checks the response.
func wantRetryLater(t *testing.T, web *httptest.Server, path string, status int, code api.Code, header ...string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", web.URL+path, strings.NewReader(simple))
	if err != nil {
		t.Fatal(err)
	}

	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}

	res, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status ||
		!strings.Contains(string(text), fmt.Sprintf(`"code":%q,"retry_safe":true,"retry_after_seconds":1`, code)) {
		t.Errorf("POST %s: %d, %s, %v; want %d, %s", path, res.StatusCode, text, err, status, code)
	}
	if after := res.Header.Get("Retry-After"); after != "1" {
		t.Errorf("POST %s: Retry-After %q", path, after)
	}
}

// waitUntil waits for a condition that other goroutines cause in a gateway, for at most three
// minutes: under the race detector, at the lowest priority next to other tests, the end of a run
// with 20 MiB of output took over 30 seconds.
func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no end of waiting for %s", what)
		}
	}
}

// A caller that waits too long gets an error, whether it waits for the result or not. The history
// has such a run only if the caller got its id before.
func TestWaitedTooLong(t *testing.T) {
	mux, begun, end := heldAgent(1)
	web := serveFake(t, mux, func(c *Config) { c.Wait = 50 * time.Millisecond })
	done := make(chan int, 1)
	go func() { done <- send(t, web, "POST", "/v1/runs", simple, nil) }()
	waitFor(t, begun, 1)
	free := time.AfterFunc(time.Minute, end) // then the runs that still wait are executed
	wantRetryLater(t, web, "/v1/runs", 503, api.CodeQueueTimeout)
	var st api.Status
	if s := send(t, web, "POST", "/v1/runs?wait=false", simple, &st); s != 202 {
		t.Fatal(s)
	}
	if _, text, _ := getPage(t, web, "/v1/runs/"+st.Run+"/events"); !strings.Contains(text, "event: error") ||
		strings.Contains(text, "event: result") || !strings.Contains(text, `"code":"waited-too-long"`) {
		t.Errorf("the events of a caller that waited in vain: %s", text)
	}
	if s := send(t, web, "GET", "/v1/runs/"+st.Run, "", &st); s != 200 || st.Result != nil || st.Error == nil ||
		st.Error.Code != api.CodeQueueTimeout || st.Error.Status != 503 || st.Error.RetryAfter != 1 {
		t.Errorf("%d, %+v", s, st)
	}
	if free.Stop() {
		end()
	}
	if s := <-done; s != 200 {
		t.Errorf("the one that was carried out: %d", s)
	}

	var all api.Page[api.Record]
	if s := send(t, web, "GET", "/v1/history", "", &all); s != 200 || len(all.Items) != 2 || begun.Load() != 1 {
		t.Fatalf("%+v are in the history, %d were asked for; want the one that was carried out, and the one that was accepted",
			all.Items, begun.Load())
	}
	if r := all.Items[0]; r.ID != st.Run || r.Code != api.CodeQueueTimeout || r.Verdict != "" {
		t.Errorf("the one that was accepted is kept as %+v", r)
	}
}

// A slot of the queue for which the agent has no slot is released when the wait is over.
func TestWaitedTooLongForTheAgent(t *testing.T) {
	mux := http.NewServeMux()
	busy := time.Now().Add(time.Minute)
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		if time.Now().After(busy) {
			say(w, 200, api.Result{Verdict: api.OK})
			return
		}
		deny(w, 503, api.Fail(api.CodeBusy, "every slot is leased"))
	})
	web := serveFake(t, mux, func(c *Config) { c.Wait = 50 * time.Millisecond })
	wantRetryLater(t, web, "/v1/runs", 503, api.CodeQueueTimeout)
}

// A client says how long its run may wait for a slot; without a number it waits as long as any. The limits of the
// program stay as they are.
func TestPreferredWait(t *testing.T) {
	mux, begun, end := heldAgent(1)
	web := serveFake(t, mux, func(c *Config) { c.Wait = 30 * time.Second })
	done := make(chan int, 1)
	go func() { done <- send(t, web, "POST", "/v1/runs", simple, nil) }()
	waitFor(t, begun, 1)

	post := func(path, body, prefer string) (status int, applied string, p api.Problem) {
		req, err := http.NewRequestWithContext(t.Context(), "POST", web.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Prefer", prefer)
		res, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header.Get("Preference-Applied"), p
	}

	for path, body := range map[string]string{"/v1/runs": simple, "/execute": `{"code":"1"}`} {
		for prefer, applied := range map[string]string{"wait=0": "wait=0", `return=minimal, wait="1"`: "wait=1"} {
			asked := time.Now()
			s, got, p := post(path, body, prefer)
			if s != 503 || got != applied || p.Code != api.CodeQueueTimeout || time.Since(asked) > 20*time.Second {
				t.Errorf("%s, %s: %d %s, applied %q, after %v", path, prefer, s, p.Code, got, time.Since(asked))
			}
		}
	}

	end()
	if s := <-done; s != 200 {
		t.Errorf("the one that was carried out: %d", s)
	}
	for prefer, applied := range map[string]string{"wait=3600": "wait=30", "wait=soon": "", "wait=0": "wait=0"} {
		if s, got, _ := post("/v1/runs", simple, prefer); s != 200 || got != applied {
			t.Errorf("a free slot, %s: %d, applied %q; want 200, %q", prefer, s, got, applied)
		}
	}
}

// However many requests a key sends, no more of them are executed concurrently, and no more wait,
// than its entry in the key file allows. Others get slots meanwhile.
func TestRunsOfAKeyAreBounded(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann", Runs: 2, Waiting: 3}, auth.Key{Name: "bob", Runs: 1})
	mux, begun, end := heldAgent(4)
	web := serveFake(t, mux, func(c *Config) { c.Keys, c.QueuePlaces = keys, 64 })
	g := web.Config.Handler.(*Gateway)
	done := make(chan int, 6)
	post := func(who string) { done <- send(t, web, "POST", "/v1/runs", simple, nil, as[who]...) }
	for range 5 {
		go post("ann")
	}

	waitUntil(t, "two runs and three that wait", func() bool { return begun.Load()+int64(g.core.Queue.Stats().Waiting) == 5 })
	if n := begun.Load(); n != 2 {
		t.Errorf("%d of ann's are carried out at a time; she may have 2", n)
	}

	wantRetryLater(t, web, "/v1/runs", 429, api.CodeKeyQueueFull, as["ann"]...)
	wantRetryLater(t, web, "/v1/runs?wait=false", 429, api.CodeKeyQueueFull, as["ann"]...)
	go post("bob")
	waitFor(t, begun, 3)
	if n := g.core.Queue.Held("ann"); n != 2 {
		t.Errorf("ann has %d turns", n)
	}

	end()
	for range 6 {
		if s := <-done; s != 200 {
			t.Errorf("one that had its turn: %d", s)
		}
	}

	if s := send(t, web, "POST", "/v1/runs", simple, nil, as["ann"]...); s != 200 {
		t.Errorf("afterwards: %d", s)
	}
}

// The metrics report how many requests wait, and count refused requests by code.
func TestMetricsOfWaitingAndRefused(t *testing.T) {
	mux, begun, end := heldAgent(1)
	web := serveFake(t, mux, func(c *Config) { c.QueuePlaces = 2 })
	g := web.Config.Handler.(*Gateway)
	says := func(line string) {
		t.Helper()
		if s, text, _ := getPage(t, web, "/metrics"); s != 200 || !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("%d, %q is not there: %s", s, line, text)
		}
	}

	says("brig_queue_depth 0")
	done := make(chan int, 3)
	for range 3 {
		go func() { done <- send(t, web, "POST", "/v1/runs", simple, nil) }()
	}

	waitFor(t, begun, 1)
	waitUntil(t, "two that wait", func() bool { return g.core.Queue.Stats().Waiting == 2 })
	says("brig_queue_depth 2")
	for range 3 {
		wantRetryLater(t, web, "/v1/runs", 429, api.CodeQueueFull)
	}

	if s := send(t, web, "POST", "/v1/runs", "{", nil); s != 400 {
		t.Error(s)
	}

	says(`brig_errors_total{code="queue-full"} 3`)
	says(`brig_errors_total{code="bad-request"} 1`)
	end()
	for range 3 {
		if s := <-done; s != 200 {
			t.Errorf("one that waited: %d", s)
		}
	}

	says("brig_queue_depth 0")
}

// The reported maximum of the service's memory is the sum of what its settings let callers hold,
// and docs/operate/sizing.md has the value for the defaults.
func TestMaxMemory(t *testing.T) {
	if got := maxMemory(core.Config{QueuePlaces: 256,
		Batches: "x"}); got < 2100*api.MiB || got > 2200*api.MiB { // with a reader of packages 2.5 GiB in docs/operate/sizing.md
		t.Errorf("with the defaults %s", got)
	}

	small := core.Config{QueuePlaces: 128, MaxBody: 8 * api.MiB, MaxConns: 700, MaxBodies: 64, Batches: "x"}
	if got := maxMemory(small); got < 1270*api.MiB || got > 1350*api.MiB {
		t.Errorf("with small bodies %s", got)
	}

	more := small
	more.MaxBody *= 2
	if got, want := maxMemory(more)-maxMemory(small), 9*small.MaxBody; got != want {
		t.Errorf("bodies of twice the size take %s more; want %s", got, want)
	}
}
