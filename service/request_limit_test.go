package service

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// API-02: the event streams of one key leave connections to the other keys, and a stream over the
// limit gets an error that says so. When streams have ended, new ones are accepted.
func TestStreamsOfAKeyLeaveConnectionsToOthers(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"}, auth.Key{Name: "cleo"})
	mux, begun, end := heldAgent(4)
	const maximum = 16
	at, client, web := listenFake(t, mux, nil, func(c *Config) { c.Keys, c.MaxConns, c.QueuePlaces = keys, maximum, 8 })
	g := web.Config.Handler.(*Gateway)
	defer end()

	var run api.Status
	if s := send(t, web, "POST", "/v1/runs?wait=false", simple, &run, as["ann"]...); s != 202 {
		t.Fatal(s)
	}

	waitFor(t, begun, 1)
	ask := func(name, path string) (*http.Response, func()) {
		t.Helper()
		c := dial(t, at, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost\r\n%s: %s\r\n\r\n", path, as[name][0], as[name][1]))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return res, func() { c.Close() }
	}

	events := "/v1/runs/" + run.Run + "/events"
	var open []func()
	for range maximum {
		res, hangUp := ask("ann", events)
		if res.StatusCode == 200 {
			open = append(open, hangUp)
			continue
		}
		var p api.Problem
		if err := json.NewDecoder(res.Body).Decode(&p); err != nil || res.StatusCode != 429 || p.Code != api.CodeTooManyConns || !p.RetrySafe ||
			res.Header.Get("Retry-After") == "" || !strings.Contains(p.Detail, "8 requests of this key") {
			t.Errorf("one stream too many: %d, %+v, %v", res.StatusCode, p, err)
		}
		hangUp()
	}

	if len(open) != maximum/2 {
		t.Errorf("one key has %d streams of %d connections", len(open), maximum)
	}

	for _, name := range []string{"bob", "cleo"} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+at+"/v1/languages", nil)
		if err != nil {
			t.Fatal(err)
		}

		req.Header.Set(as[name][0], as[name][1])
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}

		res.Body.Close()
		if res.StatusCode != 200 {
			t.Errorf("%s's, next to ann's streams: %d", name, res.StatusCode)
		}
	}

	for _, hangUp := range open {
		hangUp()
	}

	waitUntil(t, "the end of the streams", func() bool { return g.core.Requests.Total() == 0 && len(g.core.Requests.Keys()) == 0 })
	res, hangUp := ask("ann", events)
	defer hangUp()

	if res.StatusCode != 200 {
		t.Errorf("a stream when the others have ended: %d", res.StatusCode)
	}
}
