package service

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// A told submission is what clients of judge0 read.
type told struct {
	Token   string
	Stdout  *string
	Message *string
	Status  struct{ ID int }
}

func submissionOf(source string, more ...string) string {
	return fmt.Sprintf(`{"source_code":%q,"language_id":71%s}`, source, strings.Join(more, ""))
}

// submitted sends a submission, and returns its token.
func submitted(t *testing.T, at, body string, header ...string) string {
	t.Helper()
	var got told
	status, text, _ := ask(t, "POST", at+"/submissions", body, header...)
	if err := json.Unmarshal([]byte(text), &got); status != 201 || err != nil || got.Token == "" {
		t.Fatalf("%d %s, %v", status, text, err)
	}
	return got.Token
}

// ended waits until a submission has a status of its end.
func ended(t *testing.T, at, token string, header ...string) (got told) {
	t.Helper()
	for t.Context().Err() == nil {
		status, text, _ := ask(t, "GET", at+"/submissions/"+token, "", header...)
		if err := json.Unmarshal([]byte(text), &got); status != 200 || err != nil {
			t.Fatalf("%d %s, %v", status, text, err)
		}
		if got.Status.ID > 2 {
			return got
		}
		time.Sleep(5 * time.Millisecond)
	}
	return got
}

// Clients submit, and ask later by the token, which to another key does not exist.
func TestSubmissions(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	web := serveFake(t, echoAgent(), withDialects(func(c *Config) { c.Keys = keys }))
	at := web.URL + "/judge0"
	ann := []string{"X-Auth-Token", strings.TrimPrefix(as["ann"][1], "Bearer ")}
	bob := as["bob"]

	token := submitted(t, at, submissionOf("hello", `,"expected_output":"hello"`), ann...)
	if got := ended(t, at, token, ann...); got.Status.ID != 3 || got.Stdout == nil || *got.Stdout != "hello" || got.Token != token {
		t.Errorf("%+v", got)
	}
	if status, text, _ := ask(t, "GET", at+"/submissions/"+token, "", bob...); status != 404 || text != `{"status":404,"error":"Not Found"}` {
		t.Errorf("another key gets %d %s", status, text)
	}
	if status, text, _ := ask(t, "GET", at+"/submissions/batch?tokens="+token, "", bob...); status != 200 || text != `{"submissions":[null]}` {
		t.Errorf("another key gets %d %s", status, text)
	}

	// One for which the client waits has a token, too.
	status, text, _ := ask(t, "POST", at+"/submissions?wait=true", submissionOf("hi", `,"expected_output":"ho"`), ann...)
	var got told
	if err := json.Unmarshal([]byte(text), &got); status != 201 || err != nil || got.Status.ID != 4 || *got.Stdout != "hi" {
		t.Errorf("%d %s", status, text)
	}
	if again := ended(t, at, got.Token, ann...); again.Status.ID != 4 {
		t.Errorf("%+v", again)
	}

	// A failure of brig: before the token, and after it.
	if status, text, header := ask(t, "POST", at+"/submissions?wait=true", submissionOf("gone"), ann...); status != 503 ||
		!strings.HasPrefix(text, `{"error":"brig could not`) || header.Get("Retry-After") == "" || strings.Contains(text, "/secret") {
		t.Errorf("%d %s %v", status, text, header)
	}
	token = submitted(t, at, submissionOf("gone", `,"expected_output":"1"`), ann...)
	if got := ended(t, at, token, ann...); got.Status.ID != 13 || got.Message == nil || !strings.Contains(*got.Message, "brig could not") ||
		strings.Contains(*got.Message, "/secret") || got.Stdout != nil {
		t.Errorf("%+v", got)
	}

	// Without a key, or with an unknown one, there is an answer without a body, as in the original.
	for _, header := range [][]string{nil, {"X-Auth-Token", "brig_x"}} {
		if status, text, _ := ask(t, "POST", at+"/submissions", submissionOf("x"), header...); status != 401 || text != "" {
			t.Errorf("%v: %d %s", header, status, text)
		}
	}
	if status, _, _ := ask(t, "GET", at+"/", ""); status != 200 {
		t.Errorf("the root is %d", status)
	}

	var page api.Page[api.Record]
	if send(t, web, "GET", "/v1/history", "", &page, as["ann"]...); len(page.Items) < 4 {
		t.Errorf("%d runs are in the history", len(page.Items))
	}
	for _, r := range page.Items {
		if r.Dialect != "judge0" || r.Owner != "ann" || r.Project != "judge0" {
			t.Errorf("%+v", r)
		}
	}
}

// Many more submissions than the queue has places are taken, and each gets its own result.
func TestManySubmissions(t *testing.T) {
	agent := echoAgent()
	agent.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: 1}) })
	web := serveFake(t, agent, withDialects(func(c *Config) { c.QueuePlaces = 20 }))
	at := web.URL + "/judge0"

	var tokens []string
	for batch := range 5 {
		var all []string
		for i := range 20 {
			n := fmt.Sprint(20*batch + i)
			all = append(all, submissionOf(n, `,"expected_output":"`+n+`\n"`))
		}
		status, text, _ := ask(t, "POST", at+"/submissions/batch", `{"submissions":[`+strings.Join(all, ",")+`]}`)
		var got []told
		if err := json.Unmarshal([]byte(text), &got); status != 201 || err != nil || len(got) != 20 {
			t.Fatalf("%d %s", status, text)
		}
		for _, one := range got {
			tokens = append(tokens, one.Token)
		}
	}

	for i, token := range tokens {
		if got := ended(t, at, token); got.Status.ID != 3 || *got.Stdout != fmt.Sprint(i) {
			t.Errorf("%d: %+v", i, got)
		}
	}
}

// A submission says that it waits, and that it is executed. A full queue is told before there is a token.
func TestSubmissionsInAFullQueue(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	agent := http.NewServeMux()
	agent.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: 1}) })
	agent.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-end
		say(w, 200, api.Result{Verdict: api.OK})
	})
	web := serveFake(t, agent, withDialects(func(c *Config) { c.QueuePlaces = 1 }))
	at := web.URL + "/judge0"

	first := submitted(t, at, submissionOf("x"))
	<-begun
	second := submitted(t, at, submissionOf("x"))
	statusOf := func(token string) (got told) {
		_, text, _ := ask(t, "GET", at+"/submissions/"+token, "")
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if a, b := statusOf(first), statusOf(second); a.Status.ID != 2 || b.Status.ID != 1 {
		t.Errorf("%+v %+v", a, b)
	}

	full := false
	for range 100 { // the second one may not be in the queue yet
		status, text, header := ask(t, "POST", at+"/submissions", submissionOf("x"))
		if full = status == 503; full {
			if text != `{"error":"queue is full"}` || header.Get("Retry-After") == "" {
				t.Errorf("%s %v", text, header)
			}
			break
		}
	}
	if !full {
		t.Error("100 submissions are no full queue")
	}

	close(end)
	go func() {
		for range begun {
		}
	}()
	for _, token := range []string{first, second} {
		if got := ended(t, at, token); got.Status.ID != 3 {
			t.Errorf("%+v", got)
		}
	}
}

// A client that waits for its submission and hangs up ends it.
func TestAHangUpEndsASubmission(t *testing.T) {
	begun, gone := make(chan struct{}), make(chan struct{})
	agent := http.NewServeMux()
	agent.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		var run api.Run
		_ = json.NewDecoder(r.Body).Decode(&run)
		close(begun)
		<-r.Context().Done()
		close(gone)
	})
	web := serveFake(t, agent, withDialects())

	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", web.URL+"/judge0/submissions?wait=true", strings.NewReader(submissionOf("x")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	answered := make(chan error)
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			res.Body.Close()
		}
		answered <- err
	}()

	<-begun
	hangUp()
	<-gone
	if <-answered == nil {
		t.Error("the request was answered")
	}
}

// The runs of a submission end at the first that is not accepted, and their times are told as one.
func TestRunsOfASubmission(t *testing.T) {
	var count atomic.Int64
	agent := http.NewServeMux()
	agent.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		out := "1"
		if count.Add(1) == 3 {
			out = "2"
		}
		say(w, 200, api.Result{Verdict: api.OK, Stdout: api.Bytes(out), Usage: api.Usage{CPU: api.Known(20_000_000, "test")}})
	})
	web := serveFake(t, agent, withDialects())
	at := web.URL + "/judge0/submissions?wait=true"

	_, text, _ := ask(t, "POST", at, submissionOf("x", `,"number_of_runs":2`, `,"expected_output":"1"`))
	if n := count.Load(); n != 2 || !strings.Contains(text, `"time":"0.02"`) || !strings.Contains(text, `{"id":3,`) {
		t.Errorf("%d runs: %s", n, text)
	}
	_, text, _ = ask(t, "POST", at, submissionOf("x", `,"number_of_runs":20`, `,"expected_output":"1"`))
	if n := count.Load(); n != 3 || !strings.Contains(text, `{"id":4,`) {
		t.Errorf("%d runs: %s", n, text)
	}
}
