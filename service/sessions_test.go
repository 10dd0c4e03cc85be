package service

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

const made = `{"image":"tiny","labels":{"project":"p","task":"t"}}`

// fakeSessions has the sessions of a fake agent; creating one waits for begin.
type fakeSessions struct {
	begun, begin chan struct{}

	mu   sync.Mutex
	n    int
	fail int             // guarded by mu; so many creations fail
	live map[string]bool // guarded by mu; false: ended
}

func (f *fakeSessions) mux() *http.ServeMux {
	f.live = map[string]bool{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		if f.begun != nil {
			f.begun <- struct{}{}
			<-f.begin
		}

		f.mu.Lock()
		if f.fail > 0 {
			f.fail--
			f.mu.Unlock()
			deny(w, 503, api.Fail(api.CodeHostMemory, "no memory"))
			return
		}

		f.n++
		id := fmt.Sprintf("s%d", f.n)
		f.live[id] = true
		f.mu.Unlock()
		var ask api.SessionRequest
		_ = json.NewDecoder(r.Body).Decode(&ask)
		s := idleSession(id)
		s.Limits = ask.Limits.Over(api.Defaults())
		say(w, 201, s)
	})

	mux.HandleFunc("GET /v1/sessions/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		live, known := f.live[r.PathValue("id")]
		f.mu.Unlock()
		switch {
		case live:
			say(w, 200, idleSession(r.PathValue("id")))
		case known:
			deny(w, 410, api.Refuse(api.CodeSessionEnded, "it was idle"))
		default:
			deny(w, 404, api.Refuse(api.CodeNotFound, "no session"))
		}
	})

	return mux
}

func (f *fakeSessions) end(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[id] = false
}

// No caller can see, end or forget a session that is being created.
func TestSessionBeingCreated(t *testing.T) {
	f := &fakeSessions{begun: make(chan struct{}, 8), begin: make(chan struct{})}
	web := serveFake(t, f.mux(), nil)
	var one struct {
		ID string `json:"session_id"`
	}

	status := make(chan int)
	go func() { status <- send(t, web, "POST", "/v1/sessions", made, &one) }()
	<-f.begun
	var page struct{ Items []json.RawMessage }
	if s := send(t, web, "GET", "/v1/sessions", "", &page); s != 200 || len(page.Items) != 0 {
		t.Errorf("sessions meanwhile: %d, %+v", s, page.Items)
	}

	var p, second api.Problem
	another := make(chan int)
	go func() { another <- send(t, web, "POST", "/v1/sessions", made, &second) }()
	select {
	case s := <-another:
		t.Fatalf("another meanwhile: %d, %+v; there is no id yet", s, second)
	case <-time.After(100 * time.Millisecond):
	}

	close(f.begin)
	if s := <-status; s != 201 {
		t.Fatalf("made: %d", s)
	}
	if s := <-another; s != 409 || second.Session != one.ID {
		t.Errorf("another that came meanwhile: %d, %+v; want 409 with %s", s, second, one.ID)
	}
	if s := send(t, web, "GET", "/v1/sessions", "", &page); s != 200 || len(page.Items) != 1 {
		t.Errorf("sessions: %d, %+v", s, page.Items)
	}
	if s := send(t, web, "POST", "/v1/sessions", made, &p); s != 409 || p.Session != one.ID {
		t.Errorf("another afterwards: %d, %+v", s, p)
	}
}

// A session whose creation failed does not count: one of the requests that waited for it gets the
// reservation.
func TestSessionCreationFails(t *testing.T) {
	f := &fakeSessions{begun: make(chan struct{}, 8), begin: make(chan struct{}), fail: 1}
	web := serveFake(t, f.mux(), nil)
	status := make(chan int, 4)
	ask := func() { status <- send(t, web, "POST", "/v1/sessions", made, nil) }
	go ask()
	<-f.begun
	for range 3 {
		go ask()
	}

	time.Sleep(100 * time.Millisecond)
	close(f.begin)
	got := map[int]int{}
	for range 4 {
		got[<-status]++
	}

	if got[503] != 1 || got[201] != 1 || got[409] != 2 {
		t.Errorf("answers %v; want that of the one that failed, a session, and two conflicts that name it", got)
	}
}

// However many requests are sent concurrently, a key has no more sessions than it may: the others wait, as long as
// requests wait. Sessions that have ended do not count.
func TestSessionsOfAKeyAreBounded(t *testing.T) {
	token, line, err := auth.NewKey(auth.Key{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}

	keys, err := auth.ParseKeys([]byte("keys:\n" + strings.Replace(line, "}", ", sessions: 1}", 1) + "\n"))
	if err != nil {
		t.Fatal(err)
	}

	f := &fakeSessions{begun: make(chan struct{}, 8), begin: make(chan struct{})}
	web := serveFake(t, f.mux(), func(c *Config) { c.Keys, c.Wait = keys, time.Second })
	as := []string{"Authorization", "Bearer " + token}
	status := make(chan int)
	for range 8 {
		go func() { status <- send(t, web, "POST", "/v1/sessions", `{"image":"tiny"}`, nil, as...) }()
	}

	<-f.begun
	got := map[int]int{}
	for range 7 {
		select {
		case s := <-status:
			got[s]++
		case <-f.begun:
			t.Fatal("a second session is made")
		}
	}

	close(f.begin)
	got[<-status]++
	if got[201] != 1 || got[429] != 7 {
		t.Errorf("answers %v; want one session", got)
	}

	f.end("s1")
	if s := send(t, web, "POST", "/v1/sessions", made, nil, as...); s != 201 {
		t.Errorf("after it has ended: %d", s)
	}

	f.end("s2")
	if s := send(t, web, "POST", "/v1/sessions", made, nil, as...); s != 201 {
		t.Errorf("after one of the same project and task has ended: %d", s)
	}
}

// An exec that had to wait for others of its session still has its input.
func TestStreamedExecAfterBusy(t *testing.T) {
	f := new(fakeSessions)
	mux := f.mux()
	tries := 0
	mux.HandleFunc("POST /v1/sessions/{id}/exec", func(w http.ResponseWriter, r *http.Request) {
		if tries++; tries == 1 {
			deny(w, 503, api.Fail(api.CodeBusy, "8 execs are under way"))
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}

		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()

		frame := func(k api.FrameType, payload string) {
			head := make([]byte, api.FrameHeader)
			api.PutFrameHeader(head, k, len(payload))
			_, _ = io.WriteString(c, string(head)+payload)
		}

		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: brig-stream/1\r\n\r\n")
		frame(api.FrameAdmitted, "")
		buf := make([]byte, api.FrameMax)
		for {
			k, payload, err := api.ReadFrame(rw, buf)
			if err != nil || k == api.FrameStdinEnd {
				break
			}
			frame(api.FrameStdout, string(payload))
		}

		frame(api.FrameResult, `{"verdict":"ok"}`)
	})

	web := serveFake(t, mux, nil)
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}

	req, err := http.NewRequestWithContext(t.Context(), "POST", web.URL+"/v1/sessions/s1/exec",
		strings.NewReader(`{"argv":["cat"],"stdin":"input"}`))
	if err != nil {
		t.Fatal(err)
	}

	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	res, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	text, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(text), `"data":"input"`) || tries != 2 {
		t.Errorf("after %d tries: %v\n%s", tries, err, text)
	}
}
