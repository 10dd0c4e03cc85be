package service

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/runs"
)

// API-15: the execs of one session, however many are sent, hold no more slots than the agent
// executes concurrently.
func TestExecsOfASessionHoldFewSlots(t *testing.T) {
	const slots = api.SessionExecs + 4
	mux := new(fakeSessions).mux()
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: slots}) })
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Result{Verdict: api.OK}) })
	var within atomic.Int64
	end := make(chan struct{})
	mux.HandleFunc("POST /v1/sessions/{id}/exec", func(w http.ResponseWriter, r *http.Request) {
		if within.Add(1) > api.SessionExecs {
			within.Add(-1)
			deny(w, 503, api.Fail(api.CodeBusy, "as many are under way as may be"))
			return
		}
		<-end
		within.Add(-1)
		say(w, 200, api.Result{Verdict: api.OK})
	})

	web := serveFake(t, mux, func(c *Config) { c.Wait = 3 * time.Second })
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}

	const exec = "/v1/sessions/s1/exec"
	done := make(chan int, slots)
	for range slots {
		go func() { done <- send(t, web, "POST", exec, `{"argv":["true"]}`, nil) }()
	}

	for range slots - api.SessionExecs {
		if s := <-done; s != 429 {
			t.Errorf("one too many: %d; want it refused at once", s)
		}
	}

	if s := send(t, web, "POST", "/v1/runs", `{"image":"tiny","argv":["true"]}`, nil); s != 200 {
		t.Errorf("another's run meanwhile: %d", s)
	}

	var p api.Problem
	if s := send(t, web, "POST", exec, `{"argv":["true"]}`, &p); s != 429 || p.Code != api.CodeSessionBusy ||
		!p.RetrySafe || p.RetryAfter == 0 {
		t.Errorf("one more: %d, %+v", s, p)
	}

	close(end)
	for range api.SessionExecs {
		if s := <-done; s != 200 {
			t.Errorf("one that was carried out: %d", s)
		}
	}

	for range 3 * api.SessionExecs { // the place of an exec is free before its response is sent
		if s := send(t, web, "POST", exec, `{"argv":["true"]}`, nil); s != 200 {
			t.Errorf("afterwards: %d", s)
		}
	}
}

// API-15: callers whose responses do not arrive, because they do not read the output, hold no slot
// longer than their programs can run.
func TestSlotsAreReleasedWithoutAResponse(t *testing.T) {
	var stuck atomic.Int64
	mux := http.NewServeMux()
	end := make(chan struct{})
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		if stuck.Add(1) <= 4 { // all slots of the agent
			<-end
		}
		say(w, 200, api.Result{Verdict: api.OK})
	})

	web := serveFake(t, mux, nil)
	done := make(chan int, 4)
	const short = `{"language":"x","source":"y","limits":{"wall":"100ms"},"compile_limits":{"wall":"100ms"}}`
	began := time.Now()
	for range 4 {
		go func() { done <- send(t, web, "POST", "/v1/runs", short, nil) }()
	}

	waitFor(t, &stuck, 4)
	var res api.Result
	status := send(t, web, "POST", "/v1/runs", short, &res)
	if took := time.Since(began); status != 200 || res.Verdict != api.OK || took < runs.SlotSlack {
		t.Errorf("one more: %d, %+v, %v after the first", status, res, took)
	}

	close(end)
	for range 4 {
		if status := <-done; status != 200 {
			t.Errorf("one that was stuck: %d", status)
		}
	}
}
