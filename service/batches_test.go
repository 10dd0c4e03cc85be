package service

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/batches"
	"github.com/brig-sandbox/brig/service/core"
)

// A batch is opened, filled, closed and followed.
func TestBatch(t *testing.T) {
	agent := newJudging()
	web, _ := serveBatches(t, agent.mux(), t.TempDir(), nil)
	path := openBatch(t, web, `{"labels": {"project": "p"}, "defaults": {"limits": {"wall": "1s"}}}`)
	if got := addJobs(t, web, path, jobs("good", 0, 40)+jobs("wrong", 0, 5)+jobs("ceiling", 0, 2)); got.Taken != 47 ||
		got.Repeated+got.RefusedTotal != 0 {
		t.Errorf("%+v", got)
	}
	if got := addJobs(t, web, path, jobs("good", 30, 20)); got.Taken != 10 || got.Repeated != 10 {
		t.Errorf("sent again: %+v", got)
	}

	got := addJobs(t, web, path,
		"{\"id\": 1}\n\n"+`{"id": "x", "image": "tiny", "argv": ["a"], "network": "public"}`+"\n"+`{"id": "y", "nothing": 1}`+"\n")
	if got.Taken != 0 || got.RefusedTotal != 3 || len(got.Refused) != 3 || got.Refused[1].Line != 3 || got.Refused[1].ID != "x" ||
		got.Refused[1].Error.Code != api.CodeForbidden {
		t.Errorf("refused lines: %+v", got)
	}

	var p api.Problem
	if s := send(t, web, "POST", path+"/jobs", `{"id": "good-1", "image": "tiny", "argv": ["other"]}`, &p, "Content-Type",
		core.JSONLines); s != 409 || p.Code != api.CodeConflict || !strings.Contains(p.Detail, "line 1") {
		t.Errorf("another job with the same id: %d, %+v", s, p)
	}

	var b api.Batch
	for i := range 2 {
		if s := send(t, web, "POST", path+"/close", "", &b); s != 200 || b.State == api.BatchOpen {
			t.Errorf("close %d: %d, %+v", i, s, b)
		}
	}

	all, end := follow(t, web, path, "follow=true")
	onceEach(t, all, 57)
	if end == nil || end.State != api.BatchDone || end.Jobs != 57 || end.Results != 57 || end.Statuses[api.JobDone] != 55 ||
		end.Statuses[api.JobRefused] != 2 || end.Error != nil {
		t.Fatalf("end: %+v", end)
	}

	for _, one := range all {
		wrong := strings.HasPrefix(one.ID, "wrong")
		if one.Status == api.JobDone && (*one.Score == 0) != wrong || string(one.Meta) != one.ID[strings.IndexByte(one.ID, '-')+1:] {
			t.Errorf("%+v", one)
		}
	}

	s := send(t, web, "POST", path+"/jobs", jobs("late", 0, 1), &p, "Content-Type", core.JSONLines)
	if s != 409 || p.Code != api.CodeBatchClosed {
		t.Errorf("a job after the end: %d, %+v", s, p)
	}

	// Pages have each line once.
	seen := map[string]bool{}
	for after := 0; ; after += 10 {
		page, end := follow(t, web, path, fmt.Sprintf("after=%d&limit=10", after))
		for _, one := range page {
			if seen[one.ID] {
				t.Errorf("%s comes twice", one.ID)
			}
			seen[one.ID] = true
		}

		if end != nil {
			t.Errorf("a page ends with %+v", end)
		}
		if len(page) < 10 {
			break
		}
	}

	if len(seen) != 57 {
		t.Errorf("%d results in pages", len(seen))
	}

	// The runs are in the history with their labels.
	var h api.Page[api.Record]
	if s := send(t, web, "GET", "/v1/history?project=p", "", &h); s != 200 || len(h.Items) < 55 {
		t.Errorf("%d, %d runs in the history", s, len(h.Items))
	}
	if s := send(t, web, "DELETE", path, "", nil); s != 204 {
		t.Errorf("removed: %d", s)
	}
	if s := send(t, web, "GET", path, "", &p); s != 404 {
		t.Errorf("a removed batch: %d, %+v", s, p)
	}
	if g := web.Config.Handler.(*Gateway); g.batches.Store.Load() != (batches.Load{}) {
		t.Errorf("left: %+v", g.batches.Store.Load())
	}
}

// A service that starts goes on with the batches of one that was stopped, and judges no job again that has
// a result.
func TestBatchesGoOnAfterARestart(t *testing.T) {
	dir, agent := t.TempDir(), newJudging()
	web, stop := serveBatches(t, agent.mux(), dir, nil)
	path := openBatch(t, web, "{}", "Idempotency-Key", "k")
	addJobs(t, web, path, jobs("good", 0, 30)+jobs("hold", 0, 5)+jobs("good", 30, 20))
	for { // the last jobs wait for those that hold the slots
		var b api.Batch
		if send(t, web, "GET", path, "", &b); b.Results >= 30 {
			break
		}
		time.Sleep(time.Millisecond)
	}

	stop()
	web.Close()
	before, after := agent.times("good"), newJudging()
	close(after.hold)
	web, _ = serveBatches(t, after.mux(), dir, nil)
	if again := openBatch(t, web, "{}", "Idempotency-Key", "k"); again != path {
		t.Errorf("the same request opened %s; want %s", again, path)
	}

	var p api.Problem
	if s := send(t, web, "POST", "/v1/batches", `{"ordered": true}`, &p, "Idempotency-Key", "k"); s != 409 || p.Code != api.CodeConflict {
		t.Errorf("another request with the same key: %d, %+v", s, p)
	}
	if got := addJobs(t, web, path, jobs("good", 0, 60)); got.Repeated != 50 || got.Taken != 10 {
		t.Errorf("sent again after the restart: %+v", got)
	}
	if s := send(t, web, "POST", path+"/close", "", nil); s != 200 {
		t.Error(s)
	}

	all, end := follow(t, web, path, "follow=true")
	onceEach(t, all, 65)
	if end == nil || end.Statuses[api.JobDone] != 65 {
		t.Errorf("end: %+v", end)
	}
	if n := before + after.times("good"); n < 60 || n > 62 { // at most those that were under way ran twice
		t.Errorf("60 jobs were executed %d times", n)
	}
}

// After a cancel nothing begins, what runs is ended, and each job has a result.
func TestBatchIsCanceled(t *testing.T) {
	agent := newJudging()
	web, _ := serveBatches(t, agent.mux(), t.TempDir(), nil)
	path := openBatch(t, web, "{}")
	addJobs(t, web, path, jobs("good", 0, 5)+jobs("hold", 0, 500))
	for agent.now.Load() < 3 {
		time.Sleep(time.Millisecond)
	}

	began := time.Now()
	var b api.Batch
	if s := send(t, web, "DELETE", path, "", &b); s != 200 || b.State != api.BatchCanceled {
		t.Errorf("%d, %+v", s, b)
	}

	all, end := follow(t, web, path, "follow=true")
	onceEach(t, all, 505)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if end == nil || end.State != api.BatchCanceled || end.Statuses[api.JobDone] != 5 || end.Statuses[api.JobCanceled] != 500 {
		t.Errorf("end: %+v", end)
	}

	for agent.now.Load() > 0 { // the runs are ended
		time.Sleep(time.Millisecond)
	}

	if n := agent.times("hold"); n > 4 {
		t.Errorf("%d jobs began", n)
	}
}

// Jobs of batches leave one slot to other requests, which never wait for them.
func TestBatchesLeaveASlot(t *testing.T) {
	agent := newJudging()
	web, _ := serveBatches(t, agent.mux(), t.TempDir(), nil) // 4 slots
	path := openBatch(t, web, "{}")
	addJobs(t, web, path, jobs("hold", 0, 50))
	for agent.now.Load() < 3 {
		time.Sleep(time.Millisecond)
	}

	for range 20 {
		if s := send(t, web, "POST", "/v1/runs", `{"image":"tiny","argv":["interactive"]}`, nil); s != 200 {
			t.Fatal(s)
		}
	}

	if n := agent.times("hold"); n != 3 {
		t.Errorf("%d jobs run on 4 slots", n)
	}

	close(agent.hold)
	send(t, web, "POST", path+"/close", "", nil)
	if all, _ := follow(t, web, path, "follow=true"); len(all) != 50 || agent.maximum.Load() > 4 {
		t.Errorf("%d results, %d runs at once", len(all), agent.maximum.Load())
	}
}

// API-31: a key sees its own batches only, and has its own bounds.
func TestBatchesOfKeys(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann", Batches: 1}, auth.Key{Name: "bob", BatchBytes: 1000})
	web, _ := serveBatches(t, newJudging().mux(), t.TempDir(), func(c *Config) { c.Keys = keys })
	path := openBatch(t, web, "{}", as["ann"]...)
	var p api.Problem
	for _, one := range []struct{ method, path string }{{"GET", path}, {"DELETE", path}, {"POST", path + "/close"}, {"GET", path + "/results"},
		{"GET", path + "/events"}} {
		if s := send(t, web, one.method, one.path, "", &p, as["bob"]...); s != 404 || p.Code != api.CodeNotFound {
			t.Errorf("%s %s of another key: %d, %+v", one.method, one.path, s, p)
		}
	}

	if s := send(t, web, "POST", path+"/jobs", jobs("good", 0, 1), &p,
		append([]string{"Content-Type", core.JSONLines}, as["bob"]...)...); s != 404 {
		t.Errorf("a job for another key's batch: %d", s)
	}
	if s := send(t, web, "POST", "/v1/batches", "{}", &p, as["ann"]...); s != 429 || p.Code != api.CodeBatchesFull || !p.RetrySafe {
		t.Errorf("a second batch of a key that may have one: %d, %+v", s, p)
	}

	own := openBatch(t, web, "{}", as["bob"]...)
	if s := send(t, web, "POST", own+"/jobs", jobs("good", 0, 100), &p,
		append([]string{"Content-Type", core.JSONLines}, as["bob"]...)...); s != 429 || p.Code != api.CodeBatchesFull {
		t.Errorf("more bytes than a key may have: %d, %+v", s, p)
	}

	var page api.Page[api.Batch]
	if s := send(t, web, "GET", "/v1/batches", "", &page, as["bob"]...); s != 200 || len(page.Items) != 1 ||
		"/v1/batches/"+page.Items[0].ID != own || page.Items[0].Jobs == 0 {
		t.Errorf("%d, %+v", s, page)
	}
	if s := send(t, web, "GET", path, "", nil, as["ann"]...); s != 200 {
		t.Error(s)
	}
}

// The events of a batch end with it.
func TestBatchEvents(t *testing.T) {
	web, _ := serveBatches(t, newJudging().mux(), t.TempDir(), nil)
	path := openBatch(t, web, "{}")
	addJobs(t, web, path, jobs("good", 0, 5))
	send(t, web, "POST", path+"/close", "", nil)
	s, text, header := getPage(t, web, path+"/events")
	if s != 200 || header.Get("Content-Type") != core.EventStream || !strings.Contains(text, "event: done\ndata: {") ||
		!strings.HasSuffix(text, "\n\n") {
		t.Errorf("%d, %s", s, text)
	}
	if !strings.Contains(text[strings.Index(text, "event: done"):], `"done":5`) {
		t.Errorf("the last event: %s", text)
	}
}

// A service without a directory of batches says so.
func TestServiceWithoutBatches(t *testing.T) {
	web := serveFake(t, http.NewServeMux(), nil)
	var p api.Problem
	if s := send(t, web, "GET", "/v1/batches", "", &p); s != 422 || p.Code != api.CodeUnsupported {
		t.Errorf("%d, %+v", s, p)
	}
	if _, err := batches.Open(batches.Config{Dir: filepath.Join(t.TempDir(), "a", "b")}); err != nil {
		t.Error(err)
	}
}
