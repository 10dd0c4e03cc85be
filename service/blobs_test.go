package service

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/internal/cache"
	"github.com/brig-sandbox/brig/service/auth"
)

// An accepted run finds its blob when it gets its slot, and another key's blobs stay, however many
// a key uploads meanwhile; the agent's disk never holds more than fit.
func TestBlobsOfAWaitingRunStay(t *testing.T) {
	const maximum = 1 << 20
	store, err := cache.Open(t.TempDir(), maximum)
	if err != nil {
		t.Fatal(err)
	}

	mux := http.NewServeMux()
	over, begun := make(chan struct{}), make(chan struct{}, 8)
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: 1, BlobsMax: maximum}) })
	mux.HandleFunc("PUT /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		if err := store.PutBlob(r.PathValue("digest"), r.PathValue("digest"), r.Body); err != nil {
			t.Error(err)
		}
		say(w, 200, struct{}{})
	})

	mux.HandleFunc("HEAD /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		if !store.Has(r.PathValue("digest")) {
			w.WriteHeader(404)
		}
	})

	mux.HandleFunc("DELETE /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		if err := store.Remove(r.PathValue("digest")); err != nil {
			t.Error(err)
		}
		w.WriteHeader(204)
	})

	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}

		begun <- struct{}{}
		<-over
		run, err := decode.Run(text)
		if err != nil {
			t.Error(err)
		}
		if run.StdinBlob != "" && !store.Has(run.StdinBlob) {
			deny(w, 404, api.Refuse(api.CodeNoBlob, "gone"))
			return
		}

		say(w, 200, api.Result{Verdict: api.OK})
	})

	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	web := serveFake(t, mux, func(c *Config) {
		c.Keys, c.QueuePlaces = keys, 8
		c.Wait = 10 * time.Minute // bob's run waits during all of these uploads, which are slow under the race detector
	})
	put := func(key, content string) string {
		t.Helper()
		digest := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
		if s := send(t, web, "PUT", "/v1/blobs/"+digest, content, nil, as[key]...); s != 204 {
			t.Errorf("%s puts %d bytes: %d", key, len(content), s)
		}
		return digest
	}

	input, idle := put("bob", "the input"), put("bob", "of no run")
	begin := func(key, body string) (st api.Status) {
		t.Helper()
		if s := send(t, web, "POST", "/v1/runs?wait=false", body, &st, as[key]...); s != 202 {
			t.Fatalf("%s's run: %d", key, s)
		}
		return st
	}

	begin("ann", simple)
	<-begun
	waits := begin("bob", fmt.Sprintf(`{"image":"tiny","argv":["cat"],"stdin_blob":%q}`, input))
	for i := range 300 {
		put("ann", fmt.Sprint(i))
	}

	for i := range 8 {
		put("ann", strings.Repeat(fmt.Sprint(i), 300<<10))
	}

	close(over)
	var st api.Status
	waitUntil(t, "bob's run", func() bool {
		return send(t, web, "GET", "/v1/runs/"+waits.Run, "", &st, as["bob"]...) == 200 && st.State == api.Done
	})
	if st.Error != nil || st.Result == nil || st.Result.Verdict != api.OK {
		t.Errorf("the run that waited: %+v, %+v", st.Result, st.Error)
	}
	if s := send(t, web, "HEAD", "/v1/blobs/"+idle, "", nil, as["bob"]...); s != 204 {
		t.Errorf("bob's other blob: %d", s)
	}
}

// A blob that alone exceeds its key's quota is refused, and evicts nothing.
func TestBlobLargerThanItsKeyMayHave(t *testing.T) {
	token, line, err := auth.NewKey(auth.Key{Name: "a", Blobs: 100})
	if err != nil {
		t.Fatal(err)
	}

	keys, err := auth.ParseKeys([]byte("keys:\n" + line + "\n"))
	if err != nil {
		t.Fatal(err)
	}

	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			say(w, 200, struct{}{})
		}
	})

	held := http.StatusNoContent
	mux.HandleFunc("HEAD /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(held) })
	web := serveFake(t, mux, func(c *Config) { c.Keys = keys })
	as := []string{"Authorization", "Bearer " + token}
	at := func(content string) string { return fmt.Sprintf("/v1/blobs/%x", sha256.Sum256([]byte(content))) }
	small, large := strings.Repeat("s", 60), strings.Repeat("l", 101)
	if s := send(t, web, "PUT", at(small), small, nil, as...); s != 204 {
		t.Fatal(s)
	}

	var p api.Problem
	if s := send(t, web, "PUT", at(large), large, &p, as...); s != 413 || p.Code != api.CodeTooLarge || !strings.Contains(p.Detail, "100") {
		t.Errorf("%d, %+v; want 413", s, p)
	}
	if s := send(t, web, "HEAD", at(small), "", nil, as...); s != 204 {
		t.Errorf("the small one is gone: %d", s)
	}

	held = http.StatusNotFound // as if the agent had evicted it for blobs of others
	if s := send(t, web, "HEAD", at(small), "", nil, as...); s != 404 {
		t.Errorf("one that the agent has no more: %d", s)
	}
}
