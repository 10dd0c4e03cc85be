package gateway

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/gateway/queue"
)

// tries takes room for a test, if there is some at once.
func (b *bodyRoom) tries(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.take("", n)
}

// API-15: large requests have their room until they are carried out, also those that
// nobody waits for, and give it back.
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
	web := serveFake(t, mux, func(c *Config) { c.MaxBody, c.Places = 2*api.MiB, 100 })
	g := web.Config.Handler.(*Gateway)
	large := `{"image":"tiny","argv":["cat"],"stdin_blob":"","files":[{"name":"a","content":"` + strings.Repeat("x", 7<<18) + `"}]}`
	const fit = 4 // of 1.75 MiB into 4 times 2 MiB
	for i := range fit {
		if s := send(t, web, "POST", "/v1/runs?wait=false", large, nil); s != 202 {
			t.Fatalf("%d: %d", i, s)
		}
	}
	if g.room.tries(3 << 19) {
		t.Error("there is room for another while none has been carried out")
	}
	if s := send(t, web, "POST", "/v1/runs?wait=false", `{"image":"tiny","argv":["true"]}`, nil); s != 202 {
		t.Errorf("a small one meanwhile: %d", s)
	}
	close(proceed)
	for deadline := time.Now().Add(time.Minute); !g.room.tries(bodies * 2 << 20); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the room is not given back")
		}
	}
}

// API-15: programs that run long keep no more than half of the room for large bodies from
// the other keys.
func TestAKeysLargeBodiesLeaveRoomForOthers(t *testing.T) {
	keys, as := keysOf(t, Key{Name: "ann"}, Key{Name: "bob"})
	mux, _, end := held(16)
	web := serveFake(t, mux, func(c *Config) { c.Keys, c.MaxBody, c.Places, c.Wait = keys, 2*api.MiB, 100, 2*time.Second })
	defer end()
	large := `{"image":"tiny","argv":["cat"],"files":[{"name":"a","content":"` + strings.Repeat("x", 5<<18) + `"}]}`
	for i := range bodies / 2 { // of a bit more than 1.25 MiB each, for which two are needed at first
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

// API-02: slow senders have no more room than what they have sent, also where they say
// how long their body is.
func TestSlowBodiesTakeNoRoom(t *testing.T) {
	at, _, web := listenFake(t, runsOK(), nil, func(c *Config) { c.MaxBody, c.Wait = 4*api.MiB, 2*time.Second })
	const head = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for range 2 * bodies {
		dial(t, at, head+"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
		dial(t, at, head+"Content-Length: 4000000\r\n\r\n{")
	}
	large := `{"image":"tiny","argv":["cat"],"files":[{"name":"a","content":"` + strings.Repeat("x", 3<<20) + `"}]}`
	for i := range 3 {
		if s := send(t, web, "POST", "/v1/runs", large, nil); s != 200 {
			t.Errorf("a large request beside them: %d", s)
		}
		time.Sleep(time.Duration(i) * 100 * time.Millisecond) // until those were begun to be read
	}
}

// API-01, API-15: chunked bodies are bounded each and together, and what they had of the
// room is given back whatever became of them.
func TestChunkedBodiesAreBounded(t *testing.T) {
	web := serveFake(t, runsOK(), func(c *Config) { c.MaxBody, c.Wait = 3*api.MiB, time.Second })
	g := web.Config.Handler.(*Gateway)
	whole := bodies * int64(3*api.MiB)
	post := func(n int64) (status int) {
		body := io.MultiReader(strings.NewReader(`{"image":"tiny","argv":["cat"],"stdin":"`), io.LimitReader(letters{}, n), strings.NewReader(`"}`))
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
	for n, want := range map[int64]int{100: 200, bigBody: 200, 5 << 19: 200, 3<<20 - 100: 200, 3 << 20: 413, 30 << 20: 413} {
		if s := post(n); s != want {
			t.Errorf("%d bytes: %d; want %d", n, s, want)
		}
	}
	if !g.room.tries(whole - 2<<20) {
		t.Fatal("the room is not given back")
	}
	if s := post(5 << 19); s != 429 { // it has two MiB, and needs a third
		t.Errorf("where there is no room: %d", s)
	}
	if s := post(100); s != 200 {
		t.Errorf("a small one there: %d", s)
	}
	if !g.room.tries(2 << 20) {
		t.Error("what the refused one had is not given back")
	}
}

// API-15: two keys that take all they can leave room for a third, which has large answers, and
// large requests.
func TestTwoKeysLeaveRoomForAThird(t *testing.T) {
	const most = 256 << 20
	take := map[string]func(key string, n int64) bool{}
	answers, room := newAnswers(most), newBodyRoom(most)
	take["answers"] = func(key string, n int64) bool { _, ok := answers.take(key, n, nil); return ok }
	take["bodies"] = func(key string, n int64) bool {
		room.mu.Lock()
		defer room.mu.Unlock()
		return room.take(key, n)
	}
	for what, take := range take {
		for range 2 {
			for n := int64(most); n >= 40<<10; n /= 2 {
				for range 20 {
					take("ann", n)
					take("bob", n)
				}
			}
		}
		for _, key := range []string{"cid", "dan", "eve"} {
			if !take(key, most/shareOfEach) {
				t.Errorf("%s: no room for %s", what, key)
			}
		}
	}
}

// Of a key, requests have room in the order they came in, and no other key waits for them.
func TestBodiesWaitForRoomInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBodyRoom(64 << 20)
		if !b.take("ann", 28<<20) {
			t.Fatal("there is no room")
		}
		var mu sync.Mutex
		var order []int
		gone, leave := context.WithCancel(t.Context())
		for i, n := range []int64{20 << 20, 1 << 20, 2 << 20} {
			ctx := t.Context()
			if i == 1 {
				ctx = gone
			}
			go func() {
				if err := b.acquire(ctx, "ann", n); err == nil {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, i)
				}
			}()
			synctest.Wait()
		}
		if err := b.acquire(t.Context(), "bob", 8<<20); err != nil {
			t.Error(err)
		}
		leave()
		b.release("ann", 8<<20) // enough for the last alone
		synctest.Wait()
		if len(order) != 0 {
			t.Errorf("%v had room before the first", order)
		}
		b.release("ann", 20<<20)
		synctest.Wait()
		if slices.Sort(order); !slices.Equal(order, []int{0, 2}) {
			t.Errorf("there was room for %v", order)
		}
		b.release("ann", 22<<20)
		b.release("bob", 8<<20)
		if b.all != 0 || len(b.of) != 0 || b.waiting.Len() != 0 {
			t.Errorf("%d bytes are not given back", b.all)
		}
	})
}

// API-02: a large body that stands still gives its room back, and its sender is told. One that
// keeps coming is read, also slowly.
func TestBodiesThatStandStillGiveTheirRoomBack(t *testing.T) {
	before := stillFor
	stillFor = 500 * time.Millisecond
	t.Cleanup(func() { stillFor = before })
	at, _, web := listenFake(t, runsOK(), nil, func(c *Config) { c.MaxBody = 4 * api.MiB })
	g := web.Config.Handler.(*Gateway)
	const head = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
	still := dial(t, at, head+`{"image":"tiny","argv":["cat"],"stdin":"`+strings.Repeat("x", 500_000))
	slow := dial(t, at, head+`{"image":"tiny","argv":["cat"],"stdin":"`)
	go func() {
		for range 25 {
			_, _ = io.WriteString(slow, strings.Repeat("x", 38_000)) // the reader tells
			time.Sleep(40 * time.Millisecond)
		}
		_, _ = io.WriteString(slow, strings.Repeat("x", 1_000_000-25*38_000-42)+`"}`)
	}()
	res, err := http.ReadResponse(bufio.NewReader(still), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body) // what was read is judged
	if res.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(text), "stood still") || !strings.Contains(string(text), `"retry_safe":true`) {
		t.Errorf("%s: %s", res.Status, text)
	}
	if res, err := http.ReadResponse(bufio.NewReader(slow), nil); err != nil || res.StatusCode != 200 {
		t.Errorf("the slow one: %v, %v", res, err)
	}
	waitUntil(t, "the room to be given back", func() bool {
		g.room.mu.Lock()
		defer g.room.mu.Unlock()
		return g.room.all == 0
	})
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A parameter that is not understood is not left out.
func TestBadParametersAreRefused(t *testing.T) {
	web := serveFake(t, http.NewServeMux(), nil)
	for _, query := range []string{"project=a;b", "project=%zz"} {
		if s := send(t, web, "GET", "/v1/history?"+query, "", nil); s != 400 {
			t.Errorf("%s: %d", query, s)
		}
	}
}

// A caller who breaks off is no fault of the service's: neither in its log, nor in its
// metrics, nor in the answer.
func TestBodyBreaksOff(t *testing.T) {
	var log bytes.Buffer
	web := serveFake(t, http.NewServeMux(), func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	c, err := net.Dial("tcp", web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"); err != nil {
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
	if res.StatusCode != http.StatusBadRequest || err != nil || !bytes.Contains(text, []byte("broke off")) {
		t.Errorf("status %d, %v: %s", res.StatusCode, err, text)
	}
	web.Close() // the log is ours
	if strings.Contains(log.String(), "internal") {
		t.Errorf("logged: %s", &log)
	}
}

// API-02: bodies that come slowly are bounded together as well, and who is one too many
// is told by which bound. One that comes fast is served when a slow one has gone.
func TestBodiesThatComeAreBoundedTogether(t *testing.T) {
	at, _, web := listenFake(t, runsOK(), nil, func(c *Config) { c.MaxBodies = 2 })
	const head = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
	g := web.Config.Handler.(*Gateway)
	slow := dial(t, at, head)
	dial(t, at, head)
	for deadline := time.Now().Add(30 * time.Second); g.coming.Had("") < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("they are not received")
		}
	}
	var p api.Problem
	if s := send(t, web, "POST", "/v1/runs", `{"image":"tiny","argv":["true"]}`, &p); s != 429 || p.Code != api.CodeBodiesFull || p.RetryAfter == 0 ||
		!strings.Contains(p.Detail, "2 requests are") || !strings.Contains(p.Detail, "--max-bodies") {
		t.Errorf("%d, %+v", s, p)
	}
	if s := send(t, web, "GET", "/v1/sessions", "", nil); s != 200 {
		t.Errorf("without a body: %d", s)
	}
	time.AfterFunc(placeWait/5, func() { slow.Close() })
	if s := send(t, web, "POST", "/v1/runs", `{"image":"tiny","argv":["true"]}`, nil); s != 200 {
		t.Errorf("when one has gone: %d", s)
	}
}

// API-02: files that nobody reads hold connections to the agent, so they are bounded with
// the bodies, and by key. One is sent when another's reader has gone.
func TestFilesThatGoAreBoundedWithTheBodies(t *testing.T) {
	f := new(fakeSessions)
	mux := f.mux()
	mux.HandleFunc("GET /v1/sessions/{id}/files/{name...}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") == "large" {
			_, _ = io.Copy(w, io.LimitReader(zeros{}, 64<<20)) // more than all buffers on the way hold
		}
	})
	at, _, web := listenFake(t, mux, nil, func(c *Config) { c.MaxBodies = 1 })
	g := web.Config.Handler.(*Gateway)
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}
	unread := dial(t, at, "GET /v1/sessions/s1/files/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
	for deadline := time.Now().Add(30 * time.Second); g.coming.Had("") < 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it has no place")
		}
	}
	var p api.Problem
	if s := send(t, web, "GET", "/v1/sessions/s1/files/small", "", &p); s != 429 || p.Code != api.CodeBodiesFull || p.RetryAfter == 0 {
		t.Errorf("%d, %+v", s, p)
	}
	time.AfterFunc(placeWait/5, func() { unread.Close() })
	if s := send(t, web, "GET", "/v1/sessions/s1/files/small", "", nil); s != 200 {
		t.Errorf("when its reader has gone: %d", s)
	}
}

// API-15: bodies that are not small are parsed one at a time, keys by turns: a key that sends
// many has another's wait for one of them, and who has hung up is not parsed for.
func TestKeysTakeTurnsToBeParsed(t *testing.T) {
	keys, as := keysOf(t, Key{Name: "ann"}, Key{Name: "bob"})
	web := serveFake(t, runsOK(), func(c *Config) { c.Keys = keys })
	g := web.Config.Handler.(*Gateway)
	body := []byte(`{"image":"tiny","argv":["cat","` + strings.Repeat("x", bigBody) + `"]}`)
	first := g.parsing.TryTake(queue.Who{Key: "ann"})
	var order []string // who was parsed; one at a time
	var all sync.WaitGroup
	wait := func(ctx context.Context, name string) {
		ctx = context.WithValue(ctx, callerKey{}, caller{Key: Key{Name: name}})
		had := g.parsing.Stats().Waiting
		all.Go(func() {
			_, err := parsed(g, ctx, body, func(raw []byte) (api.Run, error) {
				order = append(order, name)
				return api.ParseRun(raw)
			})
			if (err != nil) != (ctx.Err() != nil) {
				t.Errorf("%s: %v", name, err)
			}
		})
		waitUntil(t, "a turn", func() bool { return g.parsing.Stats().Waiting > had })
	}
	gone, leave := context.WithCancel(t.Context())
	for range 8 {
		wait(t.Context(), "ann")
		wait(gone, "ann")
	}
	wait(t.Context(), "bob")
	leave()
	waitUntil(t, "those who leave", func() bool { return g.parsing.Stats().Waiting == 9 })
	if s := send(t, web, "POST", "/v1/runs", simple, nil, as["ann"]...); s != 200 {
		t.Errorf("a small one, which waits for nobody: %d", s)
	}
	first.Release()
	all.Wait()
	if i := slices.Index(order, "bob"); len(order) != 9 || i < 0 || i > 1 {
		t.Errorf("parsed in the order %v; want bob's among the first two", order)
	}
}
