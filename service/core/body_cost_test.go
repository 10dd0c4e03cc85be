package core

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

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
		var c, byBytes BodyCost
		c.Add(raw)
		for i := range raw {
			byBytes.Add(raw[i : i+1])
		}

		if stays > c.Total+64<<10 || c != byBytes {
			t.Errorf("%s: %d bytes of JSON count as %d (%d by single ones), and %d stay", name, len(raw), c.Total, byBytes.Total, stays)
		}
		if name == "one text" && c.Total > int64(len(raw))+1000 {
			t.Errorf("brackets inside a text count: %d for %d", c.Total, len(raw))
		}

		t.Logf("%s: %d, counts as %d, %d stay", name, len(raw), c.Total, stays)
	}
}
