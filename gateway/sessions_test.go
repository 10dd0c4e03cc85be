package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/gateway/auth"
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
			deny(w, 503, api.Fail(api.CodeOverloaded, "no memory"))
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

// However many requests are sent concurrently, a key has no more sessions than it may; sessions
// that have ended do not count.
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
	web := serveFake(t, f.mux(), func(c *Config) { c.Keys = keys })
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
	req, err := http.NewRequestWithContext(t.Context(), "POST", web.URL+"/v1/sessions/s1/exec", strings.NewReader(`{"argv":["cat"],"stdin":"input"}`))
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

// HEAD of a file works without its content, and a file that is too large gets that error.
func TestSessionFileAnswers(t *testing.T) {
	f := new(fakeSessions)
	mux := f.mux()
	mux.HandleFunc("GET /v1/sessions/{id}/files/{name...}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "content")
	})
	mux.HandleFunc("PUT /v1/sessions/{id}/files/{name...}", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			say(w, 200, struct{}{})
		}
	})
	web := serveFake(t, mux, func(c *Config) { c.MaxBlob = 1 << 10 })
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}
	if s := send(t, web, "HEAD", "/v1/sessions/s1/files/a", "", nil); s != 200 {
		t.Errorf("HEAD: %d", s)
	}
	for _, body := range []io.Reader{strings.NewReader(strings.Repeat("x", 2<<10)), io.LimitReader(zeros{}, 2<<10)} {
		req, err := http.NewRequestWithContext(t.Context(), "PUT", web.URL+"/v1/sessions/s1/files/a", body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 413 {
			t.Errorf("a file over the bound: %d", res.StatusCode)
		}
	}
	for _, name := range []string{"a//b", "./a", "a/../b", "a/"} {
		req, err := http.NewRequestWithContext(t.Context(), "PUT", web.URL, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Path = "/v1/sessions/s1/files/" + name
		res, err := web.Client().Transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 400 {
			t.Errorf("name %q: %d; want it refused, and not led to another file", name, res.StatusCode)
		}
	}
}

// Every request for an ended session gets the same error, but only for its owner; the kind of the
// first such request does not matter.
func TestEndedSessionsSayTheSame(t *testing.T) {
	for how, path := range map[string]string{"by asking": "", "by an exec": "/exec", "by a list": "/files", "by a file": "/files/a", "by deleting": "-", "with its agent": ""} {
		t.Run(how, func(t *testing.T) {
			f := new(fakeSessions)
			mux := f.mux()
			gone := func(w http.ResponseWriter, r *http.Request) {
				deny(w, 410, api.Refuse(api.CodeSessionEnded, "it was idle"))
			}
			mux.HandleFunc("DELETE /v1/sessions/{id}", func(w http.ResponseWriter, r *http.Request) { say(w, 200, struct{}{}) })
			mux.HandleFunc("POST /v1/sessions/{id}/exec", gone)
			mux.HandleFunc("GET /v1/sessions/{id}/files", gone)
			mux.HandleFunc("GET /v1/sessions/{id}/files/{name...}", gone)
			web := serveFake(t, mux, nil)
			if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
				t.Fatal(s)
			}
			f.end("s1")
			if how == "with its agent" {
				f.mu.Lock()
				delete(f.live, "s1")
				f.mu.Unlock()
			}
			if path == "-" {
				if s := send(t, web, "DELETE", "/v1/sessions/s1", "", nil); s != 204 {
					t.Errorf("deleted: %d", s)
				}
			}
			var first api.Problem
			for i, after := range []string{strings.TrimPrefix(path, "-"), "", "/exec", "/files", "/files/a", ""} {
				method := "GET"
				if after == "/exec" {
					method = "POST"
				}
				var p api.Problem
				if s := send(t, web, method, "/v1/sessions/s1"+after, `{"argv":["true"]}`, &p); s != 410 || p.Code != api.CodeSessionEnded {
					t.Errorf("%d: %s %s: %d, %+v", i, method, after, s, p)
				}
				if i == 0 {
					first = p
				}
				if p.Detail != first.Detail {
					t.Errorf("%d: %q; was %q", i, p.Detail, first.Detail)
				}
			}
			if s := send(t, web, "GET", "/v1/sessions/s2", "", nil); s != 404 {
				t.Errorf("one that never was: %d", s)
			}
		})
	}
}

// The retention of tombstones of ended sessions is limited in number and in time, for each owner
// separately.
func TestEndedSessionsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _, err := openSessions("")
		if err != nil {
			t.Fatal(err)
		}
		end := func(owner, id string) {
			if _, _, err := b.reserve(reservationPrefix+id, sessionEntry{owner: owner}, func(_, _ sessionUsage) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(b.commit(reservationPrefix+id, id, 0), b.end(id, "why")); err != nil {
				t.Fatal(err)
			}
		}
		told := func(owner, id string) api.Code {
			var e *api.Error
			if _, err := b.find(owner, id); !errors.As(err, &e) {
				t.Fatalf("%s finds %s: %v", owner, id, err)
			}
			return e.Code
		}
		end("ann", "a")
		for i := range 2 * maxTombstones {
			end("bob", fmt.Sprint("b", i))
		}
		if c := told("ann", "a"); c != api.CodeSessionEnded {
			t.Errorf("ann's: %s; bob's many are in its place", c)
		}
		if first, last := told("bob", "b0"), told("bob", fmt.Sprint("b", 2*maxTombstones-1)); first != api.CodeNotFound || last != api.CodeSessionEnded {
			t.Errorf("bob's first %s, last %s", first, last)
		}
		if c := told("bob", "a"); c != api.CodeNotFound {
			t.Errorf("ann's session is %s to bob", c)
		}
		time.Sleep(tombstoneTTL)
		if c := told("ann", "a"); c != api.CodeNotFound {
			t.Errorf("after %v: %s", tombstoneTTL, c)
		}
		if end("ann", "c"); len(b.tombstones["ann"]) != 1 || len(b.tombstones["bob"]) > maxTombstones || len(b.all) != 0 {
			t.Errorf("%d of ann's and %d of bob's are kept", len(b.tombstones["ann"]), len(b.tombstones["bob"]))
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// A request for a directory that does not exist does not affect the session.
func TestSessionOutlivesAMissingDirectory(t *testing.T) {
	mux := new(fakeSessions).mux()
	mux.HandleFunc("GET /v1/sessions/{id}/files", func(w http.ResponseWriter, r *http.Request) {
		deny(w, 404, api.Refuse(api.CodeNotFound, "there is no directory"))
	})
	web := serveFake(t, mux, nil)
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}
	if s := send(t, web, "GET", "/v1/sessions/s1/files?dir=none", "", nil); s != 404 {
		t.Errorf("listing: %d", s)
	}
	if s := send(t, web, "GET", "/v1/sessions/s1", "", nil); s != 200 {
		t.Errorf("the session afterwards: %d", s)
	}
}

// A request without a file name gets an error, and no redirect.
func TestAFileWithoutAName(t *testing.T) {
	web := serveFake(t, new(fakeSessions).mux(), nil)
	web.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}
	for _, path := range []string{"/v1/sessions/s1/files", "/v1/sessions/s1/files?volume=true"} {
		for _, method := range []string{"DELETE", "PUT"} {
			var p api.Problem
			if s := send(t, web, method, path, "", &p); s != 400 || p.Code != api.CodeBadFile || !strings.Contains(p.Detail, "write a name") {
				t.Errorf("%s %s: %d, %+v", method, path, s, p)
			}
		}
	}
}

// An ended session stays ended, whether the file of ids can be written or not. If the id of a new
// session cannot be written, the error says what the operator can fix.
func TestSessionsOnAFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mux := new(fakeSessions).mux()
	mux.HandleFunc("DELETE /v1/sessions/{id}", func(w http.ResponseWriter, r *http.Request) { say(w, 200, struct{}{}) })
	web := serveFake(t, mux, func(c *Config) { c.Sessions = filepath.Join(dir, "sessions") })
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if s := send(t, web, "DELETE", "/v1/sessions/s1", "", nil); s != 204 {
		t.Errorf("deleted: %d", s)
	}
	var p api.Problem
	if s := send(t, web, "GET", "/v1/sessions/s1", "", &p); s != 410 || p.Code != api.CodeSessionEnded {
		t.Errorf("afterwards: %d, %+v", s, p)
	}
	if p, ours := problemFor(saveError(&fs.PathError{Op: "write", Path: "sessions", Err: syscall.ENOSPC})); p.Status != 503 || p.Code != api.CodeHostExhausted || !ours {
		t.Errorf("a full disk: %+v", p)
	}
}
