package service

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// A judgedOne is a result of code-judge.
type judgedOne struct {
	ID      string `json:"sub_id"`
	Success bool
	Stdout  *string
	Reason  string
}

func batchOf(sources ...string) string {
	var all []string
	for i, s := range sources {
		all = append(all, fmt.Sprintf(`{"type":"python","sub_id":"%d","solution":%q,"expected_output":%q}`, i, s, s))
	}
	return `{"type":"batch","submissions":[` + strings.Join(all, ",") + `]}`
}

// judgeAll sends a batch, and returns its results.
func judgeAll(t *testing.T, at, body string, header ...string) []judgedOne {
	t.Helper()
	var got struct{ Results []judgedOne }
	status, text, _ := ask(t, "POST", at+"/run/long-batch", body, header...)
	if err := json.Unmarshal([]byte(text), &got); status != 200 || err != nil {
		t.Fatalf("%d %.300s, %v", status, text, err)
	}
	return got.Results
}

// One run of a batch that fails because of brig leaves the others alone, and none is taken for an answer.
func TestABatchOfADialect(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"})
	web := serveFake(t, echoAgent(), withDialects(func(c *Config) { c.Keys = keys }))
	got := judgeAll(t, web.URL+"/code-judge", batchOf("a", "gone", "b"), as["ann"]...)
	for i, want := range []string{"", "queue_timeout", ""} {
		if r := got[i]; r.ID != fmt.Sprint(i) || r.Reason != want || r.Success != (want == "") {
			t.Errorf("%d: %+v", i, r)
		}
	}

	var page api.Page[api.Record]
	if send(t, web, "GET", "/v1/history", "", &page, as["ann"]...); len(page.Items) != 3 || page.Items[0].Dialect != "code-judge" {
		t.Errorf("%+v", page.Items)
	}
}

// The runs of a batch are executed at the same time.
func TestABatchRunsAtOnce(t *testing.T) {
	mux := http.NewServeMux()
	var mu sync.Mutex
	here, all := 0, make(chan struct{})
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		if here++; here == 4 { // as many as the agent has slots
			close(all)
		}
		mu.Unlock()
		select {
		case <-all:
			say(w, 200, api.Result{Verdict: api.OK})
		case <-r.Context().Done():
		}
	})
	web := serveFake(t, mux, withDialects())
	if got := judgeAll(t, web.URL+"/code-judge", batchOf("", "", "", "")); len(got) != 4 || !got[3].Success {
		t.Errorf("%+v", got)
	}
}

// A key that may run one program at once, and have one more wait, gets all of a batch: the rest waits in front of the
// queue.
func TestABatchWaitsInFrontOfTheQueue(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann", Runs: 1, Waiting: 1})
	web := serveFake(t, echoAgent(), withDialects(func(c *Config) { c.Keys = keys; c.QueuePlaces = 1 }))
	sources := make([]string, 40)
	for i := range sources {
		sources[i] = fmt.Sprint(i)
	}
	for i, r := range judgeAll(t, web.URL+"/code-judge", batchOf(sources...), as["ann"]...) {
		if !r.Success || *r.Stdout != sources[i] {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

// When the client of a batch leaves, its runs end, and those that have not begun do not begin.
func TestTheClientOfABatchLeaves(t *testing.T) {
	mux := http.NewServeMux()
	begun, ended := make(chan struct{}, 100), make(chan struct{}, 100)
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		begun <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	})
	web := serveFake(t, mux, withDialects())

	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", web.URL+"/code-judge/run/long-batch",
		strings.NewReader(batchOf(make([]string, 100)...)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	left := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(req)
		left <- err
	}()

	for range 4 {
		<-begun
	}
	leave()
	if err := <-left; err == nil {
		t.Error("the client got an answer")
	}
	for range 4 {
		<-ended
	}
	if n := len(begun); n > 0 {
		t.Errorf("%d more runs have begun", n)
	}
}
