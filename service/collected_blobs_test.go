package service

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// collecting is a run that leaves a file whose content is "out of cc NAME".
func collecting(name string) string {
	return fmt.Sprintf(`{"image":"tiny","argv":["cc","%s"],"collect":{"globs":["out"],"blobs":true}}`, name)
}

// Files that a run collects as blobs are those of its key, whether the agent had room for them or not: later runs name
// them, and to another key they do not exist.
func TestCollectedBlobsAreOfOneKey(t *testing.T) {
	for _, full := range []bool{false, true} {
		keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
		agent := &blobAgent{blobs: map[string][]byte{}, full: full}
		web := serveFake(t, agent.mux(), func(c *Config) { c.Keys = keys })

		var res api.Result
		if s := send(t, web, "POST", "/v1/runs", collecting("x"), &res, as["ann"]...); s != 200 || len(res.Files) != 1 || len(res.Skipped) > 0 {
			t.Fatalf("full %v: %d, %+v", full, s, res)
		}
		f := res.Files[0]
		if f.Name != "out" || len(f.Content) > 0 || f.Size != 11 || api.BlobDigest(f.Blob) != nil {
			t.Fatalf("full %v: %+v", full, f)
		}

		at, use := "/v1/blobs/"+f.Blob, `{"image":"tiny","argv":["a"],"files":[{"name":"in","blob":"`+f.Blob+`"}]}`
		for _, tt := range []struct {
			name, key, method, path, body string
			status                        int
			says                          string
		}{
			{"its owner asks", "ann", "HEAD", at, "", 204, ""},
			{"its owner reads", "ann", "GET", at, "", 200, "out of cc x"},
			{"its owner uses it", "ann", "POST", "/v1/runs", use, 200, "in=out of cc x;"},
			{"another key asks", "bob", "HEAD", at, "", 404, ""},
			{"another key reads", "bob", "GET", at, "", 404, string(api.CodeNoBlob)},
			{"another key uses it", "bob", "POST", "/v1/runs", use, 404, string(api.CodeNoBlob)},
			{"none of that digest", "ann", "GET", "/v1/blobs/" + strings.Repeat("0", 64), "", 404, string(api.CodeNoBlob)},
			{"no digest", "ann", "GET", "/v1/blobs/..%2f..%2fetc", "", 400, "sha256"},
		} {
			status, text, head := ask(t, tt.method, web.URL+tt.path, tt.body, as[tt.key]...)
			if status != tt.status || !strings.Contains(text, tt.says) {
				t.Errorf("full %v, %s: %d %.300s; want %d %s", full, tt.name, status, text, tt.status, tt.says)
			}
			if tt.name == "its owner reads" && (head.Get("Content-Disposition") != "attachment" || head.Get("X-Content-Type-Options") != "nosniff") {
				t.Errorf("a browser may show it: %v", head)
			}
		}

		agent.mu.Lock()
		clear(agent.blobs) // the agent evicts what was unused for long
		agent.mu.Unlock()
		if s, text, _ := ask(t, "GET", web.URL+at, "", as["ann"]...); s != 404 || !strings.Contains(text, string(api.CodeNoBlob)) {
			t.Errorf("what the agent no longer has: %d %s", s, text)
		}
	}
}

// What a key may not keep is not kept, with the reason, and nothing of it stays at the agent. What it may keep takes the
// place of its own blobs, and never of another key's.
func TestCollectedBlobsHaveTheBoundsOfTheirKey(t *testing.T) {
	for _, full := range []bool{false, true} {
		keys, as := keysOf(t, auth.Key{Name: "ann", Blobs: 40 * api.KiB}, auth.Key{Name: "bob"}, auth.Key{Name: "small", Blobs: 8})
		agent := &blobAgent{blobs: map[string][]byte{}, full: full}
		web := serveFake(t, agent.mux(), func(c *Config) { c.Keys = keys; c.MaxBlob = 1 * api.KiB })
		collect := func(key, name string) (res api.Result) {
			t.Helper()
			if s := send(t, web, "POST", "/v1/runs", collecting(name), &res, as[key]...); s != 200 {
				t.Fatalf("full %v, %s: %d", full, key, s)
			}
			return res
		}
		there := func(digest string) bool {
			agent.mu.Lock()
			defer agent.mu.Unlock()
			return agent.blobs[digest] != nil
		}
		has := func(key, digest string) bool {
			return send(t, web, "HEAD", "/v1/blobs/"+digest, "", nil, as[key]...) == http.StatusNoContent
		}

		bobs := collect("bob", "0").Files[0].Blob
		var all []string
		for i := range 4 { // each counts as at least 16 KiB
			all = append(all, collect("ann", fmt.Sprint(i)).Files[0].Blob)
		}
		for i, digest := range all {
			if want := i >= 2; has("ann", digest) != want || there(digest) != (want || digest == bobs) {
				t.Errorf("full %v, file %d: of ann %v, at the agent %v; want %v", full, i, has("ann", digest), there(digest), want)
			}
		}
		if all[0] != bobs || !has("bob", bobs) {
			t.Errorf("full %v: bob's blob is gone", full)
		}

		for key, name := range map[string]string{"ann": strings.Repeat("x", 1<<10), "small": "1234567890"} {
			before := agent.count()
			res := collect(key, name)
			if len(res.Files) > 0 || len(res.Skipped) != 1 || res.Skipped[0].Name != "out" ||
				!strings.Contains(res.Skipped[0].Reason, "this key may keep") || agent.count() != before {
				t.Errorf("full %v, too large for %s: %+v, %+v, %d blobs of %d", full, key, res.Files, res.Skipped, agent.count(), before)
			}
		}
	}
}

func (a *blobAgent) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.blobs)
}

// Where the result of a run is not the answer, and where other agents execute it, there are no blobs.
func TestCollectedBlobsAreRefused(t *testing.T) {
	web := serveFake(t, (&blobAgent{blobs: map[string][]byte{}}).mux(), func(*Config) {})
	for name, tt := range map[string]struct{ body, says string }{
		"with tests": {`{"image":"tiny","argv":["a"],"tests":[{"id":"1"}],"collect":{"globs":["a"],"blobs":true}}`, "collect.blobs and tests"},
		"with none":  {`{"image":"tiny","argv":["a"],"collect":{"none":true,"blobs":true}}`, "collect.none and blobs"},
		"of an interactor": {`{"image":"tiny","argv":["a"],"tests":[{"id":"1"}],"interactor":{"image":"tiny","argv":["b"],` +
			`"protocol":"none","collect":{"globs":["a"],"blobs":true}}}`, "collect.blobs is set in an interactor"},
	} {
		var p api.Problem
		if s := send(t, web, "POST", "/v1/runs", tt.body, &p); s != 400 || !strings.Contains(p.Detail, tt.says) {
			t.Errorf("%s: %d, %+v; want %s", name, s, p, tt.says)
		}
	}
}
