package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/history"
)

const largerThanBuffers = 24 << 20 // more than the kernel's buffers hold of a response

// stalled sends a request and reads only the header of the response, until the test ends or hangUp
// is called.
func stalled(t *testing.T, web *httptest.Server, method, path, body string) (res *http.Response, hangUp func()) {
	t.Helper()
	c, err := net.Dial("tcp", web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
	res, err = http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return res, func() { c.Close() }
}

// heapInUse returns the bytes in use on the heap.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // pooled objects survive one collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// used is the reserved quota of responses.
func (a *responseQuota) used() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total
}

// API-15: however many clients request a run's result and do not read it, the result is in memory
// once and reserves quota once, for its status and for its events.
func TestStalledReadersOfARunHoldItOnce(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		answerRun(w, r, api.Result{Verdict: api.OK, Stage: api.StageRun, Files: []api.File{{Name: "big", Content: bytes.Repeat([]byte{0xff}, largerThanBuffers)}}})
	})
	web := serveFake(t, mux, func(c *Config) { c.MaxAnswers = 256 * api.MiB })
	g := web.Config.Handler.(*Gateway)
	var st api.Status
	if s := send(t, web, "POST", "/v1/runs?wait=false", simple, &st); s != 202 {
		t.Fatal(s)
	}
	waitUntil(t, "the end of the run", func() bool {
		a := g.runs.get("", st.Run)
		return a.status().State == api.Done && a.log.newReader(1<<40).over()
	})
	before := heapInUse()
	if before < largerThanBuffers || before > 2*largerThanBuffers {
		t.Errorf("%d bytes are held of a run with a file of %d", before, largerThanBuffers)
	}
	var hangUps []func()
	for range 12 {
		for _, path := range []string{"/v1/runs/" + st.Run, "/v1/runs/" + st.Run + "/events"} {
			res, hangUp := stalled(t, web, "GET", path, "")
			if res.StatusCode != 200 {
				t.Fatalf("%s: %s", path, res.Status)
			}
			hangUps = append(hangUps, hangUp)
		}
	}
	waitUntil(t, "room for the events", func() bool { return g.responses.used() > largerThanBuffers*5/2 })
	if more := heapInUse() - before; more > largerThanBuffers/2 {
		t.Errorf("24 readers hold %d bytes more of a run with a file of %d", more, largerThanBuffers)
	}
	if had := g.responses.used(); had > 3*largerThanBuffers+largerThanBuffers/2 {
		t.Errorf("there is room for %d bytes", had)
	}
	for _, hangUp := range hangUps {
		hangUp()
	}
	waitUntil(t, "the room to be given back", func() bool { return g.responses.used() < largerThanBuffers+largerThanBuffers/2 }) // the run itself still holds it
}

// parted is a run whose output is read in chunks.
const parted = `{"image":"tiny","argv":["yes"],"limits":{"output":"64M"}}`

// A response contains chunked output like any other, and the output is in memory once, also while
// the response is not read, if there is quota for it.
func TestLargeOutputIsHeldOnce(t *testing.T) {
	out := make([]byte, largerThanBuffers)
	for i := range out {
		out[i] = byte(rand.Uint32())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		answerRun(w, r, api.Result{Verdict: api.Nonzero, Stage: api.StageRun, ExitCode: 1, Stdout: out, Stderr: []byte(strings.Repeat("€", 100_000) + "\nwhy")})
	})
	web := serveFake(t, mux, func(c *Config) { c.MaxAnswers = 128 * api.MiB })
	g := web.Config.Handler.(*Gateway)
	req := httptest.NewRequest("POST", "/v1/runs", strings.NewReader(parted))
	req.Host = "localhost"
	req.Header.Set("Content-Type", "application/json")
	said := httptest.NewRecorder()
	web.Config.Handler.ServeHTTP(said, req)
	var res api.Result
	if err := json.Unmarshal(said.Body.Bytes(), &res); err != nil || !bytes.Equal(res.Stdout, out) || res.Stderr[0] != "€"[0] || len(res.Stderr) != 300_004 {
		t.Fatalf("%v, %d bytes of stdout, %d of stderr", err, len(res.Stdout), len(res.Stderr))
	}
	if res.Diagnosis == nil || res.Diagnosis.Message != "why" {
		t.Errorf("what it said last is not in the diagnosis: %+v", res.Diagnosis)
	}
	if whole, err := json.Marshal(res); err != nil || !bytes.Equal(append(whole, '\n'), said.Body.Bytes()) || said.Header().Get("Content-Length") != fmt.Sprint(len(whole)+1) {
		t.Errorf("%v; the answer is not what json.Marshal gives, or not of the length that is said", err)
	}
	if had := g.responses.used(); had != 0 {
		t.Errorf("there is room for %d bytes after the answer", had)
	}
	res, said = api.Result{}, nil
	before := heapInUse()
	_, hangUp := stalled(t, web, "POST", "/v1/runs", parted)
	if more := heapInUse() - before; more < largerThanBuffers || more > largerThanBuffers*5/4 {
		t.Errorf("%d bytes are held of an output of %d", more, largerThanBuffers)
	}
	if had := g.responses.used(); had < largerThanBuffers || had > largerThanBuffers+2*laterChunk {
		t.Errorf("there is room for %d bytes of an output of %d", had, largerThanBuffers)
	}
	hangUp()
	waitUntil(t, "the room to be given back", func() bool { return g.responses.used() == 0 })
}

// API-15: the output of all runs together takes no more memory than the quota. A run that gets no
// quota is ended, and is not in the history, as it has no verdict.
func TestIncomingOutputIsBounded(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		answerRun(w, r, api.Result{Verdict: api.OK, Stage: api.StageRun, Stdout: make([]byte, largerThanBuffers)})
	})
	web := serveFake(t, mux, func(c *Config) { c.MaxAnswers = 64 * api.MiB }) // half of it is the size of one and a third outputs
	g := web.Config.Handler.(*Gateway)
	if first, _ := stalled(t, web, "POST", "/v1/runs", parted); first.StatusCode != 200 {
		t.Fatal(first.Status)
	}
	var p api.Problem
	if s := send(t, web, "POST", "/v1/runs", parted, &p); s != 429 || p.Code != api.CodeBusy || !p.RetrySafe || p.Run != "" {
		t.Errorf("the second: %d, %+v", s, p)
	}
	if had := g.responses.used(); had > 32<<20 {
		t.Errorf("there is room for %d bytes", had)
	}
	var all struct{ Items []any }
	if s := send(t, web, "GET", "/v1/history", "", &all); s != 200 || len(all.Items) != 1 {
		t.Errorf("%d, %d runs are in the history; want the first", s, len(all.Items))
	}
}

// Chunks contain what was written, and head and tail are its start and end.
func TestChunkBuffer(t *testing.T) {
	for _, size := range []int{0, 1, firstChunk, 2*headTailSize - 1, 2 * headTailSize, 2*headTailSize + 1, 3*laterChunk + 5} {
		whole := make([]byte, size)
		for i := range whole {
			whole[i] = byte(rand.Uint32())
		}
		taken := int64(0)
		p := chunkBuffer{reserve: func(n int64) error { taken += n; return nil }}
		for rest := whole; len(rest) > 0; {
			n := min(len(rest), 1+rand.IntN(api.FrameMax))
			if m, err := p.Write(rest[:n]); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		held := int64(0)
		for _, b := range p.chunks {
			held += int64(cap(b))
		}
		if got := bytes.Join(asSlices(p.chunks), nil); !bytes.Equal(got, whole) || p.size != size || held != taken || held > int64(size+max(min(size, laterChunk), firstChunk)) {
			t.Errorf("%d bytes: %d are there in %d, with room for %d", size, len(got), held, taken)
		}
		want := whole
		if size > 2*headTailSize {
			want = append(bytes.Clone(whole[:headTailSize]), whole[size-headTailSize:]...)
		}
		if got := p.headTail(); !bytes.Equal(got, want) {
			t.Errorf("head and tail of %d bytes are %d others", size, len(got))
		}
	}
	no := io.ErrShortWrite
	p := chunkBuffer{reserve: func(int64) error { return no }}
	if n, err := p.Write([]byte("x")); n != 0 || !errors.Is(err, no) {
		t.Errorf("%d, %v where there is no room", n, err)
	}
}

// A watched writer reports every write and its deadline.
type watched struct {
	*httptest.ResponseRecorder
	until time.Time
	on    func()
}

func (w *watched) SetWriteDeadline(t time.Time) error { w.until = t; return nil }

func (w *watched) Write(b []byte) (int, error) {
	if w.on != nil {
		w.on()
	}
	return w.ResponseRecorder.Write(b)
}

func (w *watched) get(web *httptest.Server, path string) {
	w.ResponseRecorder = httptest.NewRecorder()
	r := httptest.NewRequest("GET", path, nil)
	r.Host = "localhost"
	web.Config.Handler.ServeHTTP(w, r)
}

// API-02: every response has a write deadline: also the pages that need no key, and the events of
// past runs.
func TestEveryResponseHasAWriteDeadline(t *testing.T) {
	var store *history.Store
	web := serveFake(t, http.NewServeMux(), func(c *Config) { store = c.History })
	if err := store.Add(t.Context(), api.Record{ID: "past", Verdict: api.OK, Stage: api.StageRun, Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/health", "/openapi.json", "/docs/", "/metrics", "/v1/runs/past", "/v1/runs/past/events", "/nothing"} {
		var w watched
		w.get(web, path)
		if left := time.Until(w.until); left <= 0 || left > slowClientTimeout {
			t.Errorf("%s: %d, to be taken within %v; want %v", path, w.Code, left, slowClientTimeout)
		}
	}
}

// API-15: a long listing reserves quota like any large response.
func TestListingsReserveQuota(t *testing.T) {
	var store *history.Store
	web := serveFake(t, http.NewServeMux(), func(c *Config) { store = c.History })
	g := web.Config.Handler.(*Gateway)
	var all sync.WaitGroup
	for i := range 400 {
		all.Go(func() {
			if err := store.Add(t.Context(), api.Record{ID: fmt.Sprint(i), Code: api.CodeInternal, Message: strings.Repeat("x", 1000), Created: time.Now()}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	had := int64(0)
	w := watched{on: func() { had = max(had, g.responses.used()) }}
	w.get(web, "/v1/history")
	if n := int64(w.Body.Len()); w.Code != 200 || n < 400_000 || had != n-1 {
		t.Errorf("%d, room for %d bytes of a listing of %d", w.Code, had, n)
	}
}

// API-15: the event of a run that only the history has reserves quota like any large response, and
// is refused if there is none.
func TestEventsOfPastRunsReserveQuota(t *testing.T) {
	var store *history.Store
	web := serveFake(t, http.NewServeMux(), func(c *Config) { store, c.MaxAnswers = c.History, 1*api.MiB })
	g := web.Config.Handler.(*Gateway)
	stream := bytes.Repeat([]byte("x"), 60<<10)
	if err := store.Add(t.Context(), api.Record{ID: "past", Verdict: api.OK, Stage: api.StageRun, Created: time.Now(), Stdout: stream, Stderr: stream}); err != nil {
		t.Fatal(err)
	}
	had := int64(0)
	w := watched{on: func() { had = max(had, g.responses.used()) }}
	w.get(web, "/v1/runs/past/events")
	if n := int64(w.Body.Len()); w.Code != 200 || n < 120<<10 || had < 120<<10 || had > n {
		t.Errorf("%d, room for %d bytes of an event of %d", w.Code, had, n)
	}
	release, ok := g.responses.tryReserve("", 440<<10, nil)
	if !ok {
		t.Fatal("there is no room")
	}
	w.get(web, "/v1/runs/past/events")
	if w.Code != 429 || !strings.Contains(w.Body.String(), `"code":"busy"`) {
		t.Errorf("without room: %d %.300s", w.Code, w.Body)
	}
	release()
	if had := g.responses.used(); had != 0 {
		t.Errorf("there is room for %d bytes after all", had)
	}
}

// Responses that wait for quota are in memory as well: no more may wait than there is memory for.
func TestWaitingResponsesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newResponseQuota(64 << 20)
		for key, n := range map[string]int64{"ann": 21 << 20, "bob": 17 << 20} {
			if _, ok := a.tryReserve(key, n, nil); !ok {
				t.Fatal("there is no room")
			}
		}
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				if _, ok := a.reserve(t.Context(), "ann", 1<<20, nil); ok {
					t.Error("there was room")
				}
			})
		}
		synctest.Wait()
		begun := time.Now()
		if _, ok := a.reserve(t.Context(), "ann", 1<<20, nil); ok || time.Since(begun) > 0 {
			t.Errorf("one more waited %v", time.Since(begun))
		}
		all.Wait()
		if time.Since(begun) != quotaWait || a.waiting != 0 {
			t.Errorf("the others waited %v, and %d bytes still wait", time.Since(begun), a.waiting)
		}
	})
}

// A run that may have much output and has little reserves no quota, and has none to release.
func TestLittleOutputReservesNothing(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		answerRun(w, r, api.Result{Verdict: api.OK, Stage: api.StageRun, Stdout: []byte("y\n")})
	})
	web := serveFake(t, mux, nil)
	var res api.Result
	if s := send(t, web, "POST", "/v1/runs", parted, &res); s != 200 || string(res.Stdout) != "y\n" {
		t.Errorf("%d, %q", s, res.Stdout)
	}
}
