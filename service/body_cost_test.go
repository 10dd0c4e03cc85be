package service

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

// API-15: the computed cost of a body is no less than the memory that its values keep, whatever it
// contains.
func TestBodyCostCoversItsValues(t *testing.T) {
	join := func(n int, one func(i int) string) string {
		var all []string
		for i := range n {
			all = append(all, one(i))
		}
		return strings.Join(all, ",")
	}

	same := func(s string) func(int) string { return func(int) string { return s } }
	for name, body := range map[string]string{
		"empty arguments":  `{"tests":[` + join(1000, same(`{"args":[`+join(1000, same(`""`))+`]}`)) + `]}`,
		"short arguments":  `{"tests":[` + join(1000, same(`{"args":[`+join(1000, same(`"123456789"`))+`]}`)) + `]}`,
		"empty tests":      `{"tests":[` + join(4096, same(`{}`)) + `]}`,
		"tests with texts": `{"tests":[` + join(4096, same(`{"stdin":"a","expected":"b","args":["c"]}`)) + `]}`,
		"files":            `{"files":[` + join(4096, same(`{"name":"a","content":""}`)) + `]}`,
		"environment":      `{"env":{` + join(4096, func(i int) string { return fmt.Sprintf(`"%d":""`, i) }) + `}}`,
		"one text":         `{"source":"` + strings.Repeat(`{,:`, 1<<19) + `"}`,
	} {
		live := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}

		raw := []byte(body)
		before := live()
		run, err := decode.Run(raw)
		if err != nil {
			t.Fatal(name, err)
		}

		stays := live() - before
		runtime.KeepAlive(run)
		runtime.KeepAlive(raw)
		var c, byBytes bodyCost
		c.add(raw)
		for i := range raw {
			byBytes.add(raw[i : i+1])
		}

		if stays > c.total+64<<10 || c != byBytes {
			t.Errorf("%s: %d bytes of JSON count as %d (%d by single ones), and %d stay", name, len(raw), c.total, byBytes.total, stays)
		}
		if name == "one text" && c.total > int64(len(raw))+1000 {
			t.Errorf("brackets inside a text count: %d for %d", c.total, len(raw))
		}

		t.Logf("%s: %d, counts as %d, %d stay", name, len(raw), c.total, stays)
	}
}

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
