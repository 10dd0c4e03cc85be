package client

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// An answer of a known length is in memory once, and once more as its value: what it allocates is no more. The service
// has memory for that when it reads its own answers (core.ReadLarge). Under the race detector the decoder allocates once
// the answer more; a buffer that grows would make it five times as much.
func TestAnswersAreInMemoryOnce(t *testing.T) {
	for _, text := range []string{"x", "é", "a\n", "\xff", "\x00"} {
		answer, err := json.Marshal(api.Result{Verdict: api.OK, Stdout: api.Bytes(strings.Repeat(text, 1<<20))})
		if err != nil {
			t.Fatal(err)
		}

		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var res api.Result
		err = New("http://x", "").answer(&http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(answer)),
			ContentLength: int64(len(answer)), Request: httptest.NewRequest(http.MethodGet, "/x", nil)}, &res)
		runtime.ReadMemStats(&after)

		if err != nil || len(res.Stdout) != len(text)*1<<20 {
			t.Fatalf("%q: %v, %d bytes", text, err, len(res.Stdout))
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > maxTimes*uint64(len(answer))+256<<10 {
			t.Errorf("%q: an answer of %d bytes allocates %d; want at most %d times as many", text, len(answer), n, maxTimes)
		}
	}
}
