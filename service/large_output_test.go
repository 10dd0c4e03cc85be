package service

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/history"
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

	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, len(body), body)
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
func used(g *Gateway) int64 { return g.core.Responses.Memory.Total() }

// API-15: however many clients request a run's result and do not read it, the result is in memory
// once. Each reserves quota for it, so those beyond the quota are refused.
func TestStalledReadersOfARunHoldItOnce(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		answerRun(w, r, api.Result{Verdict: api.OK, Stage: api.StageRun,
			Files: []api.File{{Name: "big", Content: bytes.Repeat([]byte{0xff}, largerThanBuffers)}}})
	})
	web := serveFake(t, mux, func(c *Config) { c.MaxAnswers = 768 * api.MiB })
	g := web.Config.Handler.(*Gateway)
	var st api.Status
	if s := send(t, web, "POST", "/v1/runs?wait=false", simple, &st); s != 202 {
		t.Fatal(s)
	}

	waitUntil(t, "the end of the run", func() bool {
		a := g.runs.Active.Get("", st.Run)
		return a.Status().State == api.Done && a.Log.NewReader(1<<40).Over()
	})
	before := heapInUse()
	if before < largerThanBuffers || before > 2*largerThanBuffers {
		t.Errorf("%d bytes are held of a run with a file of %d", before, largerThanBuffers)
	}

	var hangUps []func()
	for range 6 {
		for _, path := range []string{"/v1/runs/" + st.Run, "/v1/runs/" + st.Run + "/events"} {
			res, hangUp := stalled(t, web, "GET", path, "")
			if res.StatusCode != 200 {
				t.Fatalf("%s: %s", path, res.Status)
			}
			hangUps = append(hangUps, hangUp)
		}
	}

	waitUntil(t, "room for the events", func() bool { return used(g) > 12*largerThanBuffers })
	if more := heapInUse() - before; more > largerThanBuffers/2 {
		t.Errorf("12 readers hold %d bytes more of a run with a file of %d", more, largerThanBuffers)
	}
	if s := send(t, web, "GET", "/v1/runs/"+st.Run, "", nil); s != 429 {
		t.Errorf("one more reader: %d", s)
	}
	if had := used(g); had > 13*largerThanBuffers+largerThanBuffers/2 {
		t.Errorf("there is room for %d bytes", had)
	}

	for _, hangUp := range hangUps {
		hangUp()
	}

	waitUntil(t, "the room to be given back",
		func() bool { return used(g) < largerThanBuffers+largerThanBuffers/2 }) // the run itself still holds it
}

// talkative is a run that may write more than its result can carry.
const talkative = `{"image":"tiny","argv":["yes"],"limits":{"output":"64M"}}`

// A result carries the start of a long output, and says that it is not all: the agent is asked for
// it in one piece, whatever the run's output limit. The verdict and the counts are those of the
// whole output.
func TestAResultCarriesTheStartOfALongOutput(t *testing.T) {
	kept := make([]byte, 16<<20)
	for i := range kept {
		kept[i] = byte(rand.Uint32())
	}

	var upgrade string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		upgrade = r.Header.Get("Upgrade")
		say(w, 200, api.Result{Verdict: api.Nonzero, Stage: api.StageRun, ExitCode: 1, Stdout: kept, StdoutTruncated: true, Stderr: []byte("why"),
			Usage: api.Usage{StdoutBytes: 48 << 20}})
	})

	web := serveFake(t, mux, nil)
	g := web.Config.Handler.(*Gateway)
	var res api.Result
	if s := send(t, web, "POST", "/v1/runs", talkative, &res); s != 200 || upgrade != "" {
		t.Fatalf("%d, asked for as %q", s, upgrade)
	}
	if !bytes.Equal(res.Stdout, kept) || !res.StdoutTruncated || res.Usage.StdoutBytes != 48<<20 || res.Verdict != api.Nonzero ||
		string(res.Stderr) != "why" || res.StderrTruncated {
		t.Errorf("%s; %d bytes of %d, truncated %v; %q, truncated %v", res.Verdict, len(res.Stdout), res.Usage.StdoutBytes, res.StdoutTruncated,
			res.Stderr, res.StderrTruncated)
	}
	if res.Diagnosis == nil || res.Diagnosis.Message != "why" {
		t.Errorf("what it said last is not in the diagnosis: %+v", res.Diagnosis)
	}

	waitUntil(t, "the room to be given back", func() bool { return used(g) == 0 })
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
		if left := time.Until(w.until); left <= 0 || left > core.SlowClientTimeout {
			t.Errorf("%s: %d, to be taken within %v; want %v", path, w.Code, left, core.SlowClientTimeout)
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
			if err := store.Add(t.Context(),
				api.Record{ID: fmt.Sprint(i), Code: api.CodeInternal, Message: strings.Repeat("x", 1000), Created: time.Now()}); err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()
	had := int64(0)
	w := watched{on: func() { had = max(had, used(g)) }}
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
	if err := store.Add(t.Context(),
		api.Record{ID: "past", Verdict: api.OK, Stage: api.StageRun, Created: time.Now(), Stdout: stream, Stderr: stream}); err != nil {
		t.Fatal(err)
	}

	had := int64(0)
	w := watched{on: func() { had = max(had, used(g)) }}
	w.get(web, "/v1/runs/past/events")
	if n := int64(w.Body.Len()); w.Code != 200 || n < 120<<10 || had < 120<<10 || had > n {
		t.Errorf("%d, room for %d bytes of an event of %d", w.Code, had, n)
	}

	release, ok := g.core.Responses.Reserve(t.Context(), "", 440<<10)
	if !ok {
		t.Fatal("there is no room")
	}

	w.get(web, "/v1/runs/past/events")
	if w.Code != 429 || !strings.Contains(w.Body.String(), `"code":"busy"`) {
		t.Errorf("without room: %d %.300s", w.Code, w.Body)
	}

	release()
	if had := used(g); had != 0 {
		t.Errorf("there is room for %d bytes after all", had)
	}
}
