package service

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// Only health is answered without a known key, and the agent is not called. Who reads a link to a run has a token
// instead (TestNoTokenIsGuessed).
func TestEveryRouteNeedsAKey(t *testing.T) {
	keys, _ := keysOf(t, auth.Key{Name: "ann"})
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/health" {
			t.Errorf("the agent is asked for %s %s", r.Method, r.URL.Path)
		}
		say(w, 200, api.Health{Slots: 4})
	})

	web := serveFake(t, mux, func(c *Config) { c.Keys = keys })
	for _, one := range web.Config.Handler.(*Gateway).routes() {
		path := strings.NewReplacer("{id}", "x", "{digest}", strings.Repeat("ab", 32), "{name...}", "x", "{project}", "x").Replace(one.Path)
		if strings.HasPrefix(path, "/health") || one.Path == "/v1/links/{token}" {
			continue
		}

		for _, said := range []string{"", "Bearer", "Bearer brig_none", "Basic YW5uOg=="} {
			var p api.Problem
			into := any(&p)
			if one.Method == "HEAD" { // HEAD has no body
				into, p.Code = nil, api.CodeUnauthorized
			}
			if s := send(t, web, one.Method, path, "{}", into, "Authorization", said); s != 401 || p.Code != api.CodeUnauthorized || p.RetrySafe {
				t.Errorf("%s %s with %q: %d, %+v; want 401", one.Method, path, said, s, p)
			}
		}
	}
}

// Metrics of all keys' runs are only for keys that may see them.
func TestMetricsRequireAdmin(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "op", Admin: true})
	web := serveFake(t, http.NewServeMux(), func(c *Config) { c.Keys = keys })
	var p api.Problem
	if s := send(t, web, "GET", "/metrics", "", &p, as["ann"]...); s != 403 || p.Code != api.CodeForbidden {
		t.Errorf("ann: %d, %+v", s, p)
	}
	if s := send(t, web, "GET", "/metrics", "", nil, as["op"]...); s != 200 {
		t.Errorf("a key with admin: %d", s)
	}
}

// API-14: another key's session looks like one that never existed, whatever the request.
func TestAnothersSessionIsNotThere(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"}, auth.Key{Name: "op", Admin: true})
	mux := new(fakeSessions).mux()
	asked := 0
	mux.HandleFunc("/v1/sessions/{id}/", func(w http.ResponseWriter, r *http.Request) {
		asked++
		say(w, 200, api.Result{Verdict: api.OK})
	})
	web := serveFake(t, mux, func(c *Config) { c.Keys = keys })
	if s := send(t, web, "POST", "/v1/sessions", made, nil, as["ann"]...); s != 201 {
		t.Fatal(s)
	}

	for _, who := range []string{"bob", "op"} {
		for _, ask := range []string{"GET ", "DELETE ", "POST /exec", "GET /files", "GET /files/a", "PUT /files/a", "DELETE /files/a"} {
			method, rest, _ := strings.Cut(ask, " ")
			var p api.Problem
			if s := send(t, web, method, "/v1/sessions/s1"+rest, `{"argv":["true"]}`, &p, as[who]...); s != 404 || p.Code != api.CodeNotFound {
				t.Errorf("%s: %s of ann's session: %d, %+v", who, ask, s, p)
			}
		}
	}

	if asked != 0 {
		t.Errorf("the agent is asked %d times", asked)
	}
	if s := send(t, web, "POST", "/v1/sessions/s1/exec", `{"argv":["true"]}`, nil, as["ann"]...); s != 200 || asked != 1 {
		t.Errorf("ann herself: %d, %d times", s, asked)
	}
}

// A token is compared by its whole hash.
func TestKeysAreComparedWhole(t *testing.T) {
	const token = "brig_token"
	for i := range sha256.Size {
		sum := sha256.Sum256([]byte(token))
		sum[i] ^= 1
		keys, err := auth.ParseKeys(fmt.Appendf(nil, "keys:\n- {name: a, sha256: %x}\n", sum))
		if err != nil {
			t.Fatal(err)
		}
		if k, ok := keys.Find(token); ok {
			t.Errorf("key %q is found though byte %d of its hash is another", k.Name, i)
		}
	}
}
