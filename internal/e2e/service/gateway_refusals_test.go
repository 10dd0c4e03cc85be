package service

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// API-01, API-03, API-04, API-09, API-11: an improper request changes nothing.
func TestGatewayRefusals(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a, "--max-body", "1M")
	ok := `{"image":"tiny","argv":["true"]}`
	for _, tt := range []struct {
		name         string
		method, path string
		body         any
		status       int
		code         api.Code
		header       []string
	}{
		{"no JSON", "POST", "/v1/runs", "{", 400, api.CodeBadRequest, nil},
		{"nothing", "POST", "/v1/runs", "", 400, api.CodeBadRequest, nil},
		{"an array", "POST", "/v1/runs", "[]", 400, api.CodeBadRequest, nil},
		{"null", "POST", "/v1/runs", "null", 400, api.CodeBadRequest, nil},
		{"an unknown field", "POST", "/v1/runs", `{"image":"tiny","argv":["true"],"root":true}`, 400, api.CodeBadRequest, nil},
		{"a field twice", "POST", "/v1/runs", `{"image":"tiny","image":"x","argv":["true"]}`, 400, api.CodeBadRequest, nil},
		{"deep nesting", "POST", "/v1/runs", strings.Repeat("[", 100_000), 400, api.CodeBadRequest, nil},
		{"nothing to run", "POST", "/v1/runs", `{"image":"tiny"}`, 400, api.CodeBadRequest, nil},
		{"a path trick", "POST", "/v1/runs", `{"image":"tiny","argv":["true"],"files":[{"name":"../../etc/passwd","content":"x"}]}`,
			400, api.CodeBadFile, nil},
		{"a path trick", "POST", "/execute", `{"code":"1","files":{"/etc/passwd":"x"}}`, 400, api.CodeBadFile, nil},
		{"a silly limit", "POST", "/v1/runs", `{"image":"tiny","argv":["true"],"limits":{"memory":-1}}`, 400, api.CodeBadRequest, nil},
		{"above the ceiling", "POST", "/v1/runs", `{"image":"tiny","argv":["true"],"limits":{"memory":"900G"}}`, 400, api.CodeAboveCeiling, nil},
		{"an unknown image", "POST", "/v1/runs", `{"image":"none","argv":["true"]}`, 404, api.CodeNoImage, nil},
		{"an unknown program", "POST", "/v1/runs", `{"image":"tiny","argv":["/none"]}`, 422, api.CodeNoProgram, nil},
		{"a bad wait", "POST", "/v1/runs?wait=perhaps", ok, 400, api.CodeBadRequest, nil},
		{"a large body", "POST", "/v1/runs", `{"image":"tiny","argv":["true"],"stdin":"` + strings.Repeat("x", 2<<20) + `"}`, 413,
			api.CodeTooLarge, nil},
		{"a large body, simply", "POST", "/execute", `{"code":"` + strings.Repeat("x", 2<<20) + `"}`, 413, api.CodeTooLarge, nil},
		{"a compressed body", "POST", "/v1/runs", ok, 415, api.CodeBadRequest, []string{"Content-Encoding", "gzip"}},
		{"a form", "POST", "/v1/runs", ok, 415, api.CodeBadRequest, []string{"Content-Type", "text/plain"}},
		{"a form, simply", "POST", "/execute", `{"code":"1"}`, 415, api.CodeBadRequest,
			[]string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"a foreign page", "POST", "/execute", `{"code":"1"}`, 403, api.CodeForbidden, []string{"Origin", "https://evil.example"}},
		{"a page without origin", "POST", "/execute", `{"code":"1"}`, 403, api.CodeForbidden, []string{"Origin", "null"}},
		{"a foreign name", "POST", "/execute", `{"code":"1"}`, 403, api.CodeForbidden, []string{"Host", "evil.example"}},
		{"a foreign name's page", "GET", "/v1/history", nil, 403, api.CodeForbidden, []string{"Host", "evil.example:8080"}},
		{"no such path", "GET", "/v1/nothing", nil, 404, api.CodeNotFound, nil},
		{"profiling", "GET", "/debug/pprof/", nil, 404, api.CodeNotFound, nil}, // API-21
		{"another method", "DELETE", "/v1/history", nil, 405, api.CodeBadRequest, nil},
		{"an unknown run", "GET", "/v1/runs/none", nil, 404, api.CodeNotFound, nil},
		{"a bad digest", "PUT", "/v1/blobs/xyz", strings.NewReader("x"), 400, api.CodeBadRequest, nil},
		{"a bad parameter", "GET", "/v1/history?projcet=x", nil, 400, api.CodeBadRequest, nil},
		{"a bad time", "GET", "/v1/history?since=yesterday", nil, 400, api.CodeBadRequest, nil},
		{"a bad limit", "GET", "/v1/history?limit=0", nil, 400, api.CodeBadRequest, nil},
		{"a bad cursor", "GET", "/v1/history?after=x", nil, 400, api.CodeBadRequest, nil},
		{"SQL", "GET", "/v1/history?limit=5&after=" + url.QueryEscape("' OR 1=1 --"), nil, 400, api.CodeBadRequest, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one := *s
			one.T = t
			one.Refused(tt.method, tt.path, tt.body, tt.status, tt.code, tt.header...)
		})
	}

	s.Call("POST", "/v1/runs", ok, 200, nil, "Origin", s.Url) // the origin of the documentation page

	// Requests that no client library makes.
	for _, tt := range []struct {
		name, raw string
		status    int
	}{
		{"two lengths", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400},
		{"length and chunks", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: " +
			"chunked, identity\r\n\r\n0\r\n\r\n", 501},
		{"no host", "GET /health HTTP/1.1\r\n\r\n", 400},
		{"a bad header name", "GET /health HTTP/1.1\r\nHost: localhost\r\nbad name: x\r\n\r\n", 400},
		{"a bad chunk", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
			"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
			400},
		{"endless header line", "GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", 431},
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.Url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(harness.Patience())
		_, _ = io.WriteString(c, tt.raw) // the service may disconnect before all is sent
		answer, err := io.ReadAll(c)
		if !strings.HasPrefix(string(answer), fmt.Sprintf("HTTP/1.1 %d ", tt.status)) {
			t.Errorf("%s: %.100q, %v; want %d", tt.name, answer, err, tt.status)
		}
		c.Close()
	}

	if all := harness.Pages[struct{}](s, "/v1/history?limit=10"); len(all) != 1 {
		t.Errorf("%d runs are in the history; one was carried out", len(all))
	}
}

// API-15: each of many requests is answered, or told to retry.
func TestGatewayFlood(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a, "--queue", "8")
	if n, err := a.Health(t.Context()); err != nil || n.Slots != 2 {
		t.Fatalf("this test knows two slots, not %d (%v)", n.Slots, err)
	}

	var h struct{ Load, Queued int }
	health := func() bool { s.Call("GET", "/health", nil, 200, &h); return true }

	// When all slots and queue places are taken, every other caller gets an error that says to retry.
	holds := []string{s.StartDetached(harness.Sh("sleep 600")), s.StartDetached(harness.Sh("sleep 600"))}
	var wait []<-chan int
	for range 8 {
		wait = append(wait, runOverHTTP(s, harness.Sh("true")))
	}

	harness.Eventually(t, "the queue to be full", func() bool { return health() && h.Load == 2 && h.Queued == 8 })
	for _, path := range []string{"/v1/runs", "/v1/runs?wait=false", "/v1/runs", "/v1/runs?wait=false"} {
		if after := s.Refused("POST", path, harness.Sh("true"), 429, api.CodeQueueFull).Get("Retry-After"); after != "1" {
			t.Errorf("POST %s: 429 with Retry-After %q", path, after)
		}
	}

	if health(); h.Load != 2 || h.Queued != 8 {
		t.Errorf("with those that were refused: %+v", h)
	}

	for _, id := range holds {
		s.Call("DELETE", "/v1/runs/"+id, nil, 200, nil)
	}

	for _, status := range wait {
		if got := <-status; got != 200 {
			t.Errorf("one that waited: %d", got)
		}
	}

	var mu sync.Mutex
	got := map[string]int{}
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 20 {
				res, err := s.Request(t.Context(), "POST", "/v1/runs", harness.Sh("true"))
				if err != nil {
					t.Error(err)
					return
				}

				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				var is struct {
					Verdict api.Verdict
					Code    api.Code
				}

				if err != nil || json.Unmarshal(body, &is) != nil {
					t.Errorf("%v: %.200q", err, body)
				}
				if res.StatusCode == 429 && res.Header.Get("Retry-After") == "" {
					t.Error("429 without Retry-After")
				}

				mu.Lock()
				got[fmt.Sprint(res.StatusCode, " ", is.Verdict, is.Code)]++
				mu.Unlock()
			}
		})
	}

	wg.Wait()
	if got["200 ok"]+got["429 queue-full"] != 64*20 || got["200 ok"] < 20 {
		t.Errorf("answers %v", got)
	}
	harness.Eventually(t, "nothing to be left", func() bool { return health() && h.Load == 0 && h.Queued == 0 })

	none := harness.LaunchService(t, a, filepath.Join(a.Dir, "gateway2"), "--queue", "0")
	long := none.StartDetached(harness.Sh("sleep 60"))
	other := none.StartDetached(harness.Sh("sleep 60"))
	for _, id := range []string{long, other} {
		none.Listen(id, "", func(e harness.StreamEvent) bool { return e.Name != "started" })
	}

	none.Refused("POST", "/v1/runs", harness.Sh("true"), 429, api.CodeQueueFull)
	none.Refused("POST", "/v1/runs?wait=false", harness.Sh("true"), 429, api.CodeQueueFull)
	none.Call("DELETE", "/v1/runs/"+long, nil, 200, nil)
	none.Call("DELETE", "/v1/runs/"+other, nil, 200, nil)
}
