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
	paths := []string{"/v1/history", "/v1/stats", "/v1/alerts"}
	ask := func(name, path string) (status int) {
		return send(t, web, "GET", path, "", nil, "Authorization", token[name])
	}

	first := g.core.HistoryReads.TryTake(queue.Owner{Key: "bob", MaxSlots: core.ReadSlotsPerKey})
	var waiting sync.WaitGroup
	for i := range core.ReadsWaitingPerKey {
		waiting.Go(func() {
			if s := ask("bob", paths[i%len(paths)]); s != 200 {
				t.Errorf("one that waited its turn: %d", s)
			}
		})
	}

	waitUntil(t, "bob's requests", func() bool { return g.core.HistoryReads.Stats().Waiting == core.ReadsWaitingPerKey })
	for _, path := range paths {
		var p api.Problem
		if s := send(t, web, "GET", path, "", &p, "Authorization", token["bob"]); s != 429 || p.Code != api.CodeBusy || p.RetryAfter == 0 ||
			!strings.Contains(p.Detail, "16 requests of this key for past runs") {
			t.Errorf("%s: %d %+v", path, s, p)
		}
		if s := ask("ann", path); s != 200 {
			t.Errorf("%s of another key, meanwhile: %d", path, s)
		}
	}

	if had := g.core.HistoryReads.Held("bob"); had != core.ReadSlotsPerKey {
		t.Errorf("bob has %d turns", had)
	}

	first.Release()
	waiting.Wait()
	if left := g.core.HistoryReads.Stats(); left.Waiting != 0 || g.core.HistoryReads.Held("bob") != 0 {
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
	if left := g.core.HistoryReads.Stats(); left.Held != 0 || left.Waiting != 0 {
		t.Errorf("left: %+v", left)
	}
}

// AGT-43: a key that requests lists of a session's files as often as it can waits for itself; lists
// of other keys, and requests for the history, have other slots.
func TestListsOfOneKeyAreOneAtATime(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	web := serveFake(t, judge(), func(c *Config) { c.Keys = keys })
	g := web.Config.Handler.(*Gateway)
	ask := func(name, path string, p *api.Problem) (status int) {
		if p == nil {
			return send(t, web, "GET", path, "", nil, as[name]...)
		}
		return send(t, web, "GET", path, "", p, as[name]...)
	}

	const list = "/v1/sessions/none/files"
	first := g.core.FileLists.TryTake(queue.Owner{Key: "bob", MaxSlots: core.ReadSlotsPerKey})
	var waiting sync.WaitGroup
	for range core.ReadsWaitingPerKey {
		waiting.Go(func() {
			if s := ask("bob", list, nil); s != 404 {
				t.Errorf("one that waited its turn: %d", s)
			}
		})
	}

	waitUntil(t, "bob's lists", func() bool { return g.core.FileLists.Stats().Waiting == core.ReadsWaitingPerKey })
	var p api.Problem
	if s := ask("bob", list, &p); s != 429 || p.Code != api.CodeBusy ||
		!strings.Contains(p.Detail, "16 requests of this key for lists of files") {
		t.Errorf("one too many: %d %+v", s, p)
	}

	for name, path := range map[string]string{"ann": list, "bob": "/v1/stats"} {
		if s := ask(name, path, nil); s != map[string]int{"ann": 404, "bob": 200}[name] {
			t.Errorf("%s of %s, meanwhile: %d", path, name, s)
		}
	}

	first.Release()
	waiting.Wait()
	if left := g.core.FileLists.Stats(); left.Held != 0 || left.Waiting != 0 {
		t.Errorf("left: %+v", left)
	}
}
