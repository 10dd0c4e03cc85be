package service

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/queue"
)

// A key that requests statistics as often as it can gets one of two slots and waits for itself: the
// other slot, and the processor, are free for the other keys (API-15, API-30).
func TestReadsOfOneKeyAreOneAtATime(t *testing.T) {
	token, text := map[string]string{}, "keys:\n"
	for _, name := range []string{"ann", "bob"} {
		one, line, err := auth.NewKey(auth.Key{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		token[name], text = "Bearer "+one, text+line+"\n"
	}

	keys, err := auth.ParseKeys([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	web := serveFake(t, judge(), func(c *Config) { c.Keys = keys })
	g := web.Config.Handler.(*Gateway)
	paths := []string{"/v1/history", "/v1/stats", "/v1/alerts", "/v1/sessions/none/files"}
	answers := map[string]int{paths[0]: 200, paths[1]: 200, paths[2]: 200, paths[3]: 404}
	ask := func(name, path string) (status int) {
		return send(t, web, "GET", path, "", nil, "Authorization", token[name])
	}

	first := g.core.Reads.TryTake(queue.Owner{Key: "bob", MaxSlots: core.ReadSlotsPerKey})
	var waiting sync.WaitGroup
	for i := range core.ReadsWaitingPerKey {
		waiting.Go(func() {
			path := paths[i%len(paths)]
			if s := ask("bob", path); s != answers[path] {
				t.Errorf("%s that waited its turn: %d", path, s)
			}
		})
	}

	waitUntil(t, "bob's requests", func() bool { return g.core.Reads.Stats().Waiting == core.ReadsWaitingPerKey })
	for _, path := range paths {
		var p api.Problem
		if s := send(t, web, "GET", path, "", &p, "Authorization", token["bob"]); s != 429 || p.Code != api.CodeBusy || p.RetryAfter == 0 ||
			!strings.Contains(p.Detail, "16 requests of this key for past runs") {
			t.Errorf("%s: %d %+v", path, s, p)
		}
		if s := ask("ann", path); s != answers[path] {
			t.Errorf("%s of another key, meanwhile: %d", path, s)
		}
	}

	if had := g.core.Reads.Held("bob"); had != core.ReadSlotsPerKey {
		t.Errorf("bob has %d turns", had)
	}

	first.Release()
	waiting.Wait()
	if left := g.core.Reads.Stats(); left.Waiting != 0 || g.core.Reads.Held("bob") != 0 {
		t.Errorf("left: %+v", left)
	}
}

// An unread writer blocks until over is closed: its client does not read.
type unread struct {
	http.ResponseWriter
	begun, over chan struct{}
}

func (u *unread) Write(p []byte) (int, error) {
	u.begun <- struct{}{}
	<-u.over
	return 0, net.ErrClosed
}

// API-15: two keys that do not read their responses about past runs do not keep others from theirs.
func TestUnreadResponsesHoldNoSlot(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"}, auth.Key{Name: "cleo"})
	web := serveFake(t, judge(), func(c *Config) { c.Keys = keys })
	g := web.Config.Handler.(*Gateway)
	over, begun := make(chan struct{}), make(chan struct{}, 8)
	var held sync.WaitGroup
	for i, name := range []string{"ann", "bob"}[:core.ReadSlots] {
		held.Go(func() {
			r := httptest.NewRequest("GET", []string{"/v1/stats", "/v1/history"}[i], nil)
			r.Host = "localhost"
			r.Header.Set(as[name][0], as[name][1])
			g.ServeHTTP(&unread{httptest.NewRecorder(), begun, over}, r)
		})
	}

	for range core.ReadSlots {
		<-begun
	}

	ctx, enough := context.WithTimeout(t.Context(), time.Minute)
	defer enough()

	for _, path := range []string{"/v1/stats", "/v1/history", "/v1/alerts"} {
		req, err := http.NewRequestWithContext(ctx, "GET", web.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}

		req.Header.Set(as["cleo"][0], as["cleo"][1])
		res, err := web.Client().Do(req)
		if err != nil {
			t.Errorf("%s next to two that read nothing: %v", path, err)
			continue
		}

		res.Body.Close()
		if res.StatusCode != 200 {
			t.Errorf("%s next to two that read nothing: %d", path, res.StatusCode)
		}
	}

	close(over)
	held.Wait()
	if left := g.core.Reads.Stats(); left.Held != 0 || left.Waiting != 0 {
		t.Errorf("left: %+v", left)
	}
}
