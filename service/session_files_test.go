package service

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

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
