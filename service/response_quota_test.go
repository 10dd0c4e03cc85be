package service

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// API-15: a client that requests large responses and reads none gets its share of the memory and no
// more; others get theirs.
func TestUnreadResponsesAreBounded(t *testing.T) {
	token, text := map[string]string{}, "keys:\n"
	for _, name := range []string{"ann", "bob"} {
		one, line, err := auth.NewKey(auth.Key{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		token[name], text = one, text+line+"\n"
	}

	keys, err := auth.ParseKeys([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	const size = 24 << 20 // more than the kernel's buffers hold
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		say(w, 200, api.Result{Run: "theirs", Verdict: api.OK, Stage: api.StageRun, Stdout: bytes.Repeat([]byte{'x'}, size)})
	})
	web := serveFake(t, mux, func(c *Config) { c.Keys, c.MaxAnswers = keys, 148*api.MiB })
	ask := func(key string) *http.Response {
		t.Helper()
		c, err := net.Dial("tcp", web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { c.Close() })
		const body = `{"image":"tiny","argv":["yes"]}`
		fmt.Fprintf(c, "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: "+
			"application/json\r\nContent-Length: %d\r\n\r\n%s", token[key], len(body), body)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}

	first := ask("ann")
	if first.StatusCode != 200 {
		t.Fatalf("the first: %s", first.Status)
	}
	if more := ask("ann"); more.StatusCode != 200 { // the fair share is two responses
		t.Fatalf("one more: %s", more.Status)
	}

	second := ask("ann")
	told, err := io.ReadAll(second.Body)
	if err != nil || second.StatusCode != 429 || second.Header.Get("Retry-After") == "" || !strings.Contains(string(told), `"code":"busy"`) ||
		!strings.Contains(string(told), `"run_id":"`) {
		t.Errorf("the second, while nobody reads the first: %s, %.300s, %v", second.Status, told, err)
	}
	if other := ask("bob"); other.StatusCode != 200 {
		t.Errorf("another key: %s", other.Status)
	}
	if n, err := io.Copy(io.Discard, first.Body); err != nil || n < size {
		t.Errorf("the first has %d bytes, %v", n, err)
	}

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		again := ask("ann")
		if again.StatusCode == 200 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the first was read: %s", again.Status)
		}
	}
}
