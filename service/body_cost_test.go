package service

import (
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// API-15: small bodies with many values reserve memory too, and a body whose values exceed the
// quota gets an error that names the reason.
func TestBodiesOfManyEntriesAreBoundedTogether(t *testing.T) {
	mux, _, end := heldAgent(64)
	web := serveFake(t, mux, func(c *Config) { c.MaxBody, c.QueuePlaces, c.Wait = api.MiB, 100, 200*time.Millisecond })
	defer end()

	tests := func(n int) string {
		return `{"image":"tiny","argv":["x"],"tests":[` + strings.TrimSuffix(strings.Repeat(`{},`, n), ",") + `]}`
	}
	var p api.Problem
	many := `{"image":"tiny","argv":["x"],"tests":[{"args":[` + strings.Repeat(`"",`, 300_000) + `""]}]}`
	if s := send(t, web, "POST", "/v1/runs", many, &p); s != 413 || p.Code != api.CodeTooLarge ||
		!strings.Contains(p.Detail, "fewer entries") {
		t.Errorf("one that never fits: %d, %+v", s, p)
	}

	ended := map[int]int{}
	for range 8 {
		ended[send(t, web, "POST", "/v1/runs?wait=false", tests(4096), nil)]++
	}

	if ended[202] < 1 || ended[202] > 3 || ended[202]+ended[429] != 8 { // 1.3 MiB each, in four
		t.Errorf("%v; want at most three of 1.3 MiB in room for four", ended)
	}
	if s := send(t, web, "POST", "/v1/runs?wait=false", simple, nil); s != 202 {
		t.Errorf("a small one: %d", s)
	}
}
