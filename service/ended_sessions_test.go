package service

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// Every request for an ended session gets the same error, but only for its owner; the kind of the
// first such request does not matter.
func TestEndedSessionsSayTheSame(t *testing.T) {
	for how, path := range map[string]string{"by asking": "", "by an exec": "/exec", "by a list": "/files", "by a file": "/files/a",
		"by deleting": "-", "with its agent": ""} {
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
}
