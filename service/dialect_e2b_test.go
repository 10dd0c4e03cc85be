package service

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// sandboxOf makes a sandbox by E2B's API, and returns the headers with which its client goes on.
func sandboxOf(t *testing.T, url string, key []string) (id string, with []string) {
	t.Helper()
	header := []string{"Content-Type", "application/json"}
	if key != nil {
		header = append(header, "X-API-KEY", strings.TrimPrefix(key[1], "Bearer "))
	}
	code, text, _ := ask(t, "POST", url+"/e2b/v2/sandboxes", `{"templateID":"python"}`, header...)
	var made struct {
		ID    string `json:"sandboxID"`
		Token string `json:"envdAccessToken"`
	}
	if err := json.Unmarshal([]byte(text), &made); err != nil || code != 201 || made.Token == "" {
		t.Fatalf("a sandbox: %d %s", code, text)
	}
	return made.ID, []string{"E2b-Sandbox-Id", made.ID, "X-Access-Token", made.Token}
}

// The token of a session is good for this session alone: neither for another one of its key, nor for those of other
// keys, nor for what is no session, and no longer than the session and its key live.
func TestSessionTokens(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	f := &fakeSessions{}
	web := serveFake(t, f.mux(), withDialects(func(c *Config) { c.Keys = keys }))
	first, ofFirst := sandboxOf(t, web.URL, as["ann"])
	second, ofSecond := sandboxOf(t, web.URL, as["ann"])
	bobs, ofBobs := sandboxOf(t, web.URL, as["bob"])

	tokenAt := func(id string, of []string) []string { return []string{"E2b-Sandbox-Id", id, "X-Access-Token", of[3]} }
	for _, tt := range []struct {
		name, method, path string
		header             []string
		want               int
	}{
		{"its own", "GET", "/health", ofFirst, 204},
		{"the other one", "GET", "/health", ofSecond, 204},
		{"the other key's", "GET", "/health", ofBobs, 204},
		{"another session of its key", "GET", "/health", tokenAt(second, ofFirst), 401},
		{"a session of another key", "GET", "/health", tokenAt(bobs, ofFirst), 401},
		{"a session that there is not", "GET", "/health", tokenAt("none", ofFirst), 401},
		{"no session", "GET", "/health", tokenAt("", ofFirst), 401},
		{"a path for a session", "GET", "/health", tokenAt(second+"/../"+first, ofFirst), 401},
		{"no token", "GET", "/health", []string{"E2b-Sandbox-Id", first}, 401},
		{"an empty token", "GET", "/health", []string{"E2b-Sandbox-Id", first, "X-Access-Token", ""}, 401},
		{"all sandboxes", "GET", "/v2/sandboxes", ofFirst, 401},
		{"its description, which wants a key", "GET", "/sandboxes/" + first, ofFirst, 401},
		{"its end, which wants a key", "DELETE", "/sandboxes/" + first, ofFirst, 401},
	} {
		if code, text, _ := ask(t, tt.method, web.URL+"/e2b"+tt.path, "", tt.header...); code != tt.want {
			t.Errorf("%s: %d %s; want %d", tt.name, code, text, tt.want)
		}
	}

	for _, path := range []string{"/v1/sessions/" + first, "/v1/sessions", "/v1/history"} { // brig's own API knows no such token
		if code, _, _ := ask(t, "GET", web.URL+path, "", append([]string{"Authorization", "Bearer " + ofFirst[3]}, ofFirst...)...); code != 401 {
			t.Errorf("%s by a token: %d", path, code)
		}
	}

	f.end(first)
	if code, text, _ := ask(t, "GET", web.URL+"/e2b/health", "", ofFirst...); code != 502 {
		t.Errorf("after its end: %d %s", code, text)
	}
}

// What a compressed upload becomes is bounded, and not only what it is: 64 MiB of zeros are 64 KiB on their way here.
func TestUploadsAreBounded(t *testing.T) {
	f := &fakeSessions{}
	var got atomic.Int64
	mux := f.mux()
	mux.HandleFunc("PUT /v1/sessions/{id}/fs/content", func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		got.Store(n)
		say(w, 200, struct{}{})
	})
	web := serveFake(t, mux, withDialects(func(c *Config) { c.MaxBlob = api.MiB }))
	_, own := sandboxOf(t, web.URL, nil)

	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	zeros := make([]byte, 1<<20)
	for range 64 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}

	header := append([]string{"Content-Type", "application/octet-stream", "Content-Encoding", "gzip"}, own...)
	code, text, _ := ask(t, "POST", web.URL+"/e2b/files?path=/home/user/x", bomb.String(), header...)
	if code < 400 || code >= 500 || got.Load() > int64(2*api.MiB) {
		t.Errorf("64 MiB from %d bytes: %d %s; the agent got %d bytes", bomb.Len(), code, text, got.Load())
	}

	// A small one arrives.
	var small bytes.Buffer
	z = gzip.NewWriter(&small)
	if _, err := z.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if code, text, _ := ask(t, "POST", web.URL+"/e2b/files?path=/home/user/x", small.String(), header...); code != 200 || got.Load() != 5 {
		t.Errorf("a small file: %d %s; the agent got %d bytes", code, text, got.Load())
	}
}
