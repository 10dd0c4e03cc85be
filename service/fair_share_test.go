package service

import (
	"net/http"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// One key's sessions, which live for hours, do not keep others out: neither by their number nor by
// the memory that is reserved for them.
func TestSessionsLeaveRoomForOtherKeys(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"}, auth.Key{Name: "eve", Sessions: 8, Memory: 3 * api.GiB})
	mux := new(fakeSessions).mux()
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) {
		say(w, 200, api.Health{Slots: 4, SessionsMax: 8, MemoryMax: int64(4 * api.GiB)})
	})
	mux.HandleFunc("DELETE /v1/sessions/{id}", func(w http.ResponseWriter, r *http.Request) { say(w, 200, struct{}{}) })
	web := serveFake(t, mux, func(c *Config) { c.Keys, c.Wait = keys, time.Second })
	ask := func(who, limits string) (int, api.Problem, string) {
		var got struct {
			api.Problem
			ID string `json:"session_id"`
		}
		s := send(t, web, "POST", "/v1/sessions", `{"image":"tiny","limits":`+limits+`}`, &got, as[who]...)
		return s, got.Problem, got.ID
	}

	const small, large = `{"memory":"16M","scratch":"1M"}`, `{"memory":"900M","scratch":"1M"}`
	var ids []string
	for i := range 4 {
		s, p, id := ask("ann", small)
		if s != 201 {
			t.Fatalf("ann's session %d: %d, %+v", i, s, p)
		}
		ids = append(ids, id)
	}

	if s, p, _ := ask("ann", small); s != 429 || p.Code != api.CodeSessionsFull || !p.RetrySafe || p.RetryAfter == 0 {
		t.Errorf("ann's fifth of eight: %d, %+v", s, p)
	}

	for _, id := range ids {
		if s := send(t, web, "DELETE", "/v1/sessions/"+id, "", nil, as["ann"]...); s != 204 {
			t.Fatalf("the end of %s: %d", id, s)
		}
	}

	for i := range 2 {
		if s, p, _ := ask("ann", large); s != 201 {
			t.Fatalf("ann's large session %d: %d, %+v", i, s, p)
		}
	}

	if s, p, _ := ask("ann", large); s != 429 || p.Code != api.CodeSessionsFull {
		t.Errorf("ann's third of 0.9 GB, of 4: %d, %+v", s, p)
	}
	if s, p, _ := ask("bob", large); s != 201 {
		t.Errorf("bob's first: %d, %+v", s, p)
	}

	for i := range 3 {
		if s, p, _ := ask("eve", large); s != 201 { // the agent itself would allow only one
			t.Errorf("session %d of a key with bounds of its own: %d, %+v", i, s, p)
		}
	}

	if s, p, _ := ask("eve", large); s != 429 || p.Code != api.CodeSessionsFull {
		t.Errorf("one beyond that bound: %d, %+v", s, p)
	}
	if s, p, _ := ask("eve", `{"memory":"4G"}`); s != 400 || p.Code != api.CodeAboveCeiling {
		t.Errorf("one that alone is beyond that bound: %d, %+v", s, p)
	}
}
