package gateway

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// API-15: large requests have their room until they are carried out, also those that
// nobody waits for, and give it back.
func TestLargeBodiesAreBoundedTogether(t *testing.T) {
	mux := http.NewServeMux()
	proceed := make(chan struct{})
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-proceed:
		case <-r.Context().Done():
		}
		say(w, 200, map[string]string{"verdict": "ok"})
	})
	web := serveFake(t, mux, func(c *Config) { c.MaxBody, c.Places = 2*api.MiB, 100 })
	g := web.Config.Handler.(*Gateway)
	large := `{"image":"tiny","argv":["cat"],"stdin_blob":"","files":[{"name":"a","content":"` + strings.Repeat("x", 3<<19) + `"}]}`
	const fit = 10 // of 1.5 MiB into 8 times 2 MiB
	for i := range fit {
		if s := send(t, web, "POST", "/v1/runs?wait=false", large, nil); s != 202 {
			t.Fatalf("%d: %d", i, s)
		}
	}
	if g.room.TryAcquire(3 << 19) {
		t.Error("there is room for another while none has been carried out")
	}
	if s := send(t, web, "POST", "/v1/runs?wait=false", `{"image":"tiny","argv":["true"]}`, nil); s != 202 {
		t.Errorf("a small one meanwhile: %d", s)
	}
	close(proceed)
	for deadline := time.Now().Add(time.Minute); !g.room.TryAcquire(bodies * 2 << 20); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the room is not given back")
		}
	}
}

// A parameter that is not understood is not left out.
func TestBadParametersAreRefused(t *testing.T) {
	web := serveFake(t, http.NewServeMux(), nil)
	for _, query := range []string{"project=a;b", "project=%zz"} {
		if s := send(t, web, "GET", "/v1/history?"+query, "", nil); s != 400 {
			t.Errorf("%s: %d", query, s)
		}
	}
}
