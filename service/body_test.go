package service

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/queue"
)

// API-15: large requests hold their memory until they have been executed, also if no client waits
// for them, and then release it.
func TestLargeBodiesAreBoundedTogether(t *testing.T) {
	mux := http.NewServeMux()
	proceed := make(chan struct{})
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-proceed:
		case <-r.Context().Done():
		}
		say(w, 200, map[string]string{"verdict": "ok"})
	})

	web := serveFake(t, mux, func(c *Config) { c.MaxBody, c.QueuePlaces = 2*api.MiB, 100 })
	g := web.Config.Handler.(*Gateway)
	large := `{"image":"tiny","argv":["cat"],"stdin_blob":"","files":[{"name":"a","content":"` + strings.Repeat("x", 7<<18) + `"}]}`
	const fit = 4 // bodies of 1.75 MiB in 4 times 2 MiB
	for i := range fit {
		if s := send(t, web, "POST", "/v1/runs?wait=false", large, nil); s != 202 {
			t.Fatalf("%d: %d", i, s)
		}
	}

	if g.core.BodyQuota.TryAcquire("", 3<<19) {
		t.Error("there is room for another while none has been carried out")
	}
	if s := send(t, web, "POST", "/v1/runs?wait=false", `{"image":"tiny","argv":["true"]}`, nil); s != 202 {
		t.Errorf("a small one meanwhile: %d", s)
	}

	close(proceed)

	deadline := time.Now().Add(time.Minute)
	for ; !g.core.BodyQuota.TryAcquire("", core.MaxLargeBodies*2<<20); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the room is not given back")
		}
	}
}

// API-15: the large bodies of programs that run long leave at least half of the memory quota to
// other keys.
func TestAKeysLargeBodiesLeaveMemoryForOthers(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	mux, _, end := heldAgent(16)
	web := serveFake(t, mux, func(c *Config) { c.Keys, c.MaxBody, c.QueuePlaces, c.Wait = keys, 2*api.MiB, 100, 2*time.Second })
	defer end()

	large := `{"image":"tiny","argv":["cat"],"files":[{"name":"a","content":"` + strings.Repeat("x", 5<<18) + `"}]}`
	for i := range core.MaxLargeBodies / 2 { // a bit more than 1.25 MiB each, which first reserves two
		if s := send(t, web, "POST", "/v1/runs?wait=false", large, nil, as["ann"]...); s != 202 {
			t.Fatalf("ann's, %d: %d", i, s)
		}
	}

	var p api.Problem
	if s := send(t, web, "POST", "/v1/runs?wait=false", large, &p, as["ann"]...); s != 429 || p.Code != api.CodeBusy {
		t.Errorf("one more of ann's: %d, %+v", s, p)
	}
	if s := send(t, web, "POST", "/v1/runs?wait=false", large, nil, as["bob"]...); s != 202 {
		t.Errorf("bob's: %d", s)
	}
}

// API-02: slow senders hold no more memory than they have sent, also if they announce the length of
// their body.
func TestSlowBodiesReserveNoMemory(t *testing.T) {
	at, _, web := listenFake(t, runsOK(), nil, func(c *Config) { c.MaxBody, c.Wait = 4*api.MiB, 2*time.Second })
	const head = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for range 2 * core.MaxLargeBodies {
		dial(t, at, head+"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
		dial(t, at, head+"Content-Length: 4000000\r\n\r\n{")
	}

	large := `{"image":"tiny","argv":["cat"],"files":[{"name":"a","content":"` + strings.Repeat("x", 3<<20) + `"}]}`
	for i := range 3 {
		if s := send(t, web, "POST", "/v1/runs", large, nil); s != 200 {
			t.Errorf("a large request next to them: %d", s)
		}
		time.Sleep(time.Duration(i) * 100 * time.Millisecond) // until the service has begun to read the slow ones
	}
}

// API-01, API-15: the size of chunked bodies is limited for each and for all together, and they
// release their memory however they end.
func TestChunkedBodiesAreBounded(t *testing.T) {
	web := serveFake(t, runsOK(), func(c *Config) { c.MaxBody, c.Wait = 3*api.MiB, time.Second })
	g := web.Config.Handler.(*Gateway)
	whole := core.MaxLargeBodies * int64(3*api.MiB)
	post := func(n int64) (status int) {
		body := io.MultiReader(strings.NewReader(`{"image":"tiny","argv":["cat"],"stdin":"`), io.LimitReader(letters{}, n),
			strings.NewReader(`"}`))
		req, err := http.NewRequestWithContext(t.Context(), "POST", web.URL+"/v1/runs", body)
		if err != nil {
			t.Fatal(err)
		}

		req.Header.Set("Content-Type", "application/json")
		res, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()

		return res.StatusCode
	}

	for n, want := range map[int64]int{100: 200, core.LargeBodyMin: 200, 5 << 19: 200, 3<<20 - 100: 200, 3 << 20: 413, 30 << 20: 413} {
		if s := post(n); s != want {
			t.Errorf("%d bytes: %d; want %d", n, s, want)
		}
	}

	if !g.core.BodyQuota.TryAcquire("", whole-2<<20) {
		t.Fatal("the room is not given back")
	}
	if s := post(5 << 19); s != 429 { // two MiB are available, and it needs a third
		t.Errorf("where there is no room: %d", s)
	}
	if s := post(100); s != 200 {
		t.Errorf("a small one there: %d", s)
	}
	if !g.core.BodyQuota.TryAcquire("", 2<<20) {
		t.Error("what the refused one had is not given back")
	}
}

// API-15: two keys that take all they can leave memory for a third, for large responses and for
// large requests.
func TestTwoKeysLeaveMemoryForAThird(t *testing.T) {
	const maximum = 256 << 20
	take := map[string]func(key string, n int64) bool{}
	keys, _ := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	g := serveFake(t, runsOK(), func(c *Config) {
		c.Keys = keys
		c.MaxAnswers = maximum
		c.MaxBody = maximum / core.MaxLargeBodies
	}).Config.Handler.(*Gateway)
	take["answers"], take["bodies"] = g.core.Responses.Memory.TryAcquire, g.core.BodyQuota.TryAcquire

	for what, take := range take {
		for range 2 {
			for n := int64(maximum); n >= 40<<10; n /= 2 {
				for range 20 {
					take("ann", n)
					take("bob", n)
				}
			}
		}

		for _, key := range []string{"cid", "dan", "eve"} {
			if !take(key, maximum/256) {
				t.Errorf("%s: no room for %s", what, key)
			}
		}
	}
}

// API-02: a large body that stalls releases its memory, and its sender gets an error. A body that
// keeps arriving is read, even if slowly.
func TestStalledBodiesReleaseMemory(t *testing.T) {
	before := core.StallTimeout
	core.StallTimeout = 5 * time.Second // a busy machine may leave the slow sender waiting for some of it
	t.Cleanup(func() { core.StallTimeout = before })
	at, _, web := listenFake(t, runsOK(), nil, func(c *Config) { c.MaxBody = 4 * api.MiB })
	g := web.Config.Handler.(*Gateway)
	const head = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
	still := dial(t, at, head+`{"image":"tiny","argv":["cat"],"stdin":"`+strings.Repeat("x", 500_000))
	slow := dial(t, at, head+`{"image":"tiny","argv":["cat"],"stdin":"`)
	go func() {
		for range 60 {
			_, _ = io.WriteString(slow, strings.Repeat("x", 16_000)) // the reader returns the error
			time.Sleep(100 * time.Millisecond)
		}
		_, _ = io.WriteString(slow, strings.Repeat("x", 1_000_000-60*16_000-42)+`"}`)
	}()

	res, err := http.ReadResponse(bufio.NewReader(still), nil)
	if err != nil {
		t.Fatal(err)
	}

	text, _ := io.ReadAll(res.Body) // the test checks what was read
	if res.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(text), "the request stalled") ||
		!strings.Contains(string(text), `"retry_safe":true`) {
		t.Errorf("%s: %s", res.Status, text)
	}
	if res, err := http.ReadResponse(bufio.NewReader(slow), nil); err != nil || res.StatusCode != 200 {
		t.Errorf("the slow one: %v, %v", res, err)
	}

	waitUntil(t, "the room to be given back", func() bool { return g.core.BodyQuota.Total() == 0 })
}

// API-02: a body above the limit is refused with 413, also to a client that sends all of it before it reads the answer.
func TestTooLargeBodiesAreRefusedToAnyClient(t *testing.T) {
	at, _, _ := listenFake(t, runsOK(), nil, func(c *Config) { c.MaxBody, c.MaxBlob = api.MiB, api.MiB })
	const size = 24 << 20 // more than the buffers of a connection
	announced := fmt.Sprintf("Content-Length: %d", size)
	for name, tt := range map[string]struct {
		line, head, begin, end string
	}{
		"announced": {"POST /v1/runs", announced, "", ""},
		"in chunks": {"POST /v1/runs", "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n", size), "\r\n0\r\n\r\n"},
		"a blob":    {"PUT /v1/blobs/" + strings.Repeat("0", 64), announced, "", ""},
	} {
		c := dial(t, at, tt.line+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+tt.head+"\r\n\r\n"+tt.begin)
		_, err := io.CopyN(c, letters{}, size)
		if err == nil {
			_, err = io.WriteString(c, tt.end)
		}
		if err != nil {
			t.Errorf("%s: it was not read: %v", name, err)
		}

		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %s", name, res.Status)
		}
	}

	// A client that asks first gets the answer at once.
	c := dial(t, at, fmt.Sprintf("POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n", size))
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("with Expect: %v, %v", res, err)
	}
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A parameter that cannot be parsed is an error and not ignored.
func TestBadParametersAreRefused(t *testing.T) {
	web := serveFake(t, http.NewServeMux(), nil)
	for _, query := range []string{"project=a;b", "project=%zz"} {
		if s := send(t, web, "GET", "/v1/history?"+query, "", nil); s != 400 {
			t.Errorf("%s: %d", query, s)
		}
	}
}

// A caller that disconnects is no failure of the service: neither in its log, nor in its metrics,
// nor in a response.
func TestClientDisconnectsDuringBody(t *testing.T) {
	var log bytes.Buffer
	web := serveFake(t, http.NewServeMux(), func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	c, err := net.Dial("tcp", web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	if _, err := io.WriteString(c,
		"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}

	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	text, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusBadRequest || err != nil || !bytes.Contains(text, []byte("ended early")) {
		t.Errorf("status %d, %v: %s", res.StatusCode, err, text)
	}

	web.Close() // only now the test may read the log
	if strings.Contains(log.String(), "internal") {
		t.Errorf("logged: %s", &log)
	}
}

// leaves closes a connection when a request waits for its slot, which then waits for as long as that takes.
func leaves(t *testing.T, g *Gateway, c net.Conn) {
	before := core.UploadWait
	core.UploadWait = time.Minute
	t.Cleanup(func() { core.UploadWait = before })
	go func() {
		for t.Context().Err() == nil && g.core.Uploads.Stats().Waiting == 0 {
			time.Sleep(time.Millisecond)
		}
		c.Close()
	}()
}

// API-02: the number of slow uploads is limited too, and the error for one over the limit names the
// limit. A fast one is accepted when a slow one has ended.
func TestConcurrentUploadsAreBounded(t *testing.T) {
	at, _, web := listenFake(t, runsOK(), nil, func(c *Config) { c.MaxBodies = 2 })
	const head = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
	g := web.Config.Handler.(*Gateway)
	slow := dial(t, at, head)
	dial(t, at, head)
	waitUntil(t, "the slow ones", func() bool { return g.core.Uploads.Held("") == 2 })
	var p api.Problem
	if s := send(t, web, "POST", "/v1/runs", `{"image":"tiny","argv":["true"]}`, &p); s != 429 ||
		p.Code != api.CodeTooManyBodies || p.RetryAfter == 0 ||
		!strings.Contains(p.Detail, "2 requests are") || !strings.Contains(p.Detail, "--max-bodies") {
		t.Errorf("%d, %+v", s, p)
	}
	if s := send(t, web, "GET", "/v1/sessions", "", nil); s != 200 {
		t.Errorf("without a body: %d", s)
	}

	leaves(t, g, slow)
	if s := send(t, web, "POST", "/v1/runs", `{"image":"tiny","argv":["true"]}`, nil); s != 200 {
		t.Errorf("when one has gone: %d", s)
	}
}

// API-02: downloads that clients do not read hold connections to the agent, so their number is
// limited together with the uploads, and by key. One is sent when another's client has left.
func TestDownloadsAreBoundedWithUploads(t *testing.T) {
	f := new(fakeSessions)
	mux := f.mux()
	mux.HandleFunc("GET /v1/sessions/{id}/files/{name...}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") == "large" {
			_, _ = io.Copy(w, io.LimitReader(zeros{}, 64<<20)) // more than all buffers between them hold
		}
	})

	at, _, web := listenFake(t, mux, nil, func(c *Config) { c.MaxBodies = 1 })
	g := web.Config.Handler.(*Gateway)
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}

	unread := dial(t, at, "GET /v1/sessions/s1/files/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
	waitUntil(t, "its place", func() bool { return g.core.Uploads.Held("") == 1 })
	var p api.Problem
	if s := send(t, web, "GET", "/v1/sessions/s1/files/small", "", &p); s != 429 || p.Code != api.CodeTooManyBodies || p.RetryAfter == 0 {
		t.Errorf("%d, %+v", s, p)
	}

	leaves(t, g, unread)
	if s := send(t, web, "GET", "/v1/sessions/s1/files/small", "", nil); s != 200 {
		t.Errorf("when its reader has gone: %d", s)
	}
}

// API-15: bodies that are not small are parsed one at a time, and keys alternate: if a key sends
// many, another key waits for one of them only, and bodies of disconnected clients are not parsed.
func TestKeysAlternateInParsing(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	web := serveFake(t, runsOK(), func(c *Config) { c.Keys = keys })
	g := web.Config.Handler.(*Gateway)
	body := []byte(`{"image":"tiny","argv":["cat","` + strings.Repeat("x", core.LargeBodyMin) + `"]}`)
	first := g.core.Parsing.TryTake(queue.Owner{Key: "ann"})
	var order []string // names of the parsed bodies; one is parsed at a time
	var all sync.WaitGroup
	wait := func(ctx context.Context, name string) {
		ctx = core.WithCaller(ctx, core.Caller{Key: auth.Key{Name: name}})
		had := g.core.Parsing.Stats().Waiting
		all.Go(func() {
			_, err := core.ParseBody(g.core, ctx, body, func(raw []byte) (api.Run, error) {
				order = append(order, name)
				return decode.Run(raw)
			})
			if (err != nil) != (ctx.Err() != nil) {
				t.Errorf("%s: %v", name, err)
			}
		})
		waitUntil(t, "a turn", func() bool { return g.core.Parsing.Stats().Waiting > had })
	}

	gone, leave := context.WithCancel(t.Context())
	for range 8 {
		wait(t.Context(), "ann")
		wait(gone, "ann")
	}

	wait(t.Context(), "bob")
	leave()
	waitUntil(t, "the callers that leave", func() bool { return g.core.Parsing.Stats().Waiting == 9 })
	if s := send(t, web, "POST", "/v1/runs", simple, nil, as["ann"]...); s != 200 {
		t.Errorf("a small one, which waits for nobody: %d", s)
	}

	first.Release()
	all.Wait()
	if i := slices.Index(order, "bob"); len(order) != 9 || i < 0 || i > 1 {
		t.Errorf("parsed in the order %v; want bob's among the first two", order)
	}
}
