package service

import (
	"cmp"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/openapitest"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/history"
)

// serveFake returns a service in front of an agent that responds as mux does. The responses for
// health and languages are predefined.
func serveFake(t *testing.T, mux *http.ServeMux, change func(*Config)) *httptest.Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "gateway") // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { os.RemoveAll(dir) })
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, own := mux.Handler(httptest.NewRequest("GET", "/v1/health", nil)); own == "" {
		mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: 4}) })
	}
	if _, own := mux.Handler(httptest.NewRequest("GET", "/v1/languages", nil)); own != "GET /v1/languages" {
		mux.HandleFunc("GET /v1/languages", func(w http.ResponseWriter, r *http.Request) {
			say(w, 200, []api.Language{{Name: "python", Extensions: []string{"py"}, Image: "python", Stored: true, Tier: "python"}})
		})
	}

	agent := &http.Server{Handler: mux}
	go agent.Serve(ln)
	t.Cleanup(func() { agent.Close() })

	store, err := history.Open(t.Context(), filepath.Join(dir, "history.db"), history.RetentionLimits{})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})

	c := client.New(filepath.Join(dir, "s"))
	t.Cleanup(c.Close)
	cfg := Config{Config: core.Config{Agent: c, History: store, QueuePlaces: 8}}
	if change != nil {
		change(&cfg)
	}

	g, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}

	web := httptest.NewServer(g)
	t.Cleanup(web.Close)
	return web
}

func say(w http.ResponseWriter, status int, v any) {
	if r, is := v.(api.Result); is {
		v = completeResult(r)
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// idleSession is a session without activity.
func idleSession(id string) api.Session {
	return api.Session{ID: id, State: api.SessionQuiet, Network: "none", Idle: api.SessionIdle, Life: api.SessionLife}
}

// completeResult fills in the fields that every agent's result has.
func completeResult(r api.Result) api.Result {
	r.Stage = cmp.Or(r.Stage, api.StageRun)
	r.Tests = slices.Clone(r.Tests)
	for i := range r.Tests {
		r.Tests[i].Result = completeResult(r.Tests[i].Result)
	}
	return r
}

// answerRun responds to a run in the requested form: as one document, or as a stream.
func answerRun(w http.ResponseWriter, r *http.Request, res api.Result) {
	if r.Header.Get("Upgrade") == "" {
		say(w, 200, res)
		return
	}

	_, _ = io.Copy(io.Discard, r.Body)
	c, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer c.Close()

	frame := func(k api.FrameType, payload []byte) {
		head := make([]byte, api.FrameHeader)
		api.PutFrameHeader(head, k, len(payload))
		_, _ = c.Write(append(head, payload...))
	}

	_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: brig-stream/1\r\n\r\n")
	frame(api.FrameAdmitted, nil)
	for buf, k := make([]byte, api.FrameMax), api.FrameType(0); err == nil && k != api.FrameStdinEnd; {
		k, _, err = api.ReadFrame(rw, buf)
	}

	for piece := range slices.Chunk(res.Stdout, api.FrameMax) {
		frame(api.FrameStdout, piece)
	}

	for piece := range slices.Chunk(res.Stderr, api.FrameMax) {
		frame(api.FrameStderr, piece)
	}

	pieces := func(k api.FrameType, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		for ; len(text) > api.FrameMax; text = text[api.FrameMax:] {
			frame(api.FramePart, text[:api.FrameMax])
		}
		frame(k, text)
	}

	res = completeResult(res)
	for _, one := range res.Tests {
		pieces(api.FrameTest, one)
	}

	res.Stdout, res.Stderr, res.Tests = nil, nil, nil
	pieces(api.FrameResult, res)
}

// deny sends an error as an agent does.
func deny(w http.ResponseWriter, status int, e *api.Error) {
	say(w, status, map[string]any{"error": e})
}

// keysOf creates keys, and returns for each name the header with its token.
func keysOf(t *testing.T, list ...auth.Key) (keys *auth.Keys, as map[string][]string) {
	t.Helper()
	text, as := "keys:\n", map[string][]string{}
	for _, k := range list {
		token, line, err := auth.NewKey(k)
		if err != nil {
			t.Fatal(err)
		}
		text, as[k.Name] = text+line+"\n", []string{"Authorization", "Bearer " + token}
	}

	keys, err := auth.ParseKeys([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return keys, as
}

// page returns the text and header of the response to a GET.
func getPage(t *testing.T, web *httptest.Server, path string) (status int, text string, header http.Header) {
	t.Helper()
	res, err := web.Client().Get(web.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

// send sends a request and decodes the response.
func send(t *testing.T, web *httptest.Server, method, path, body string, into any, header ...string) (status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}

	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}

	res, err := web.Client().Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()

	doc, err := openapitest.Parse(web.Config.Handler.(*Gateway).doc)
	if err != nil {
		t.Fatal(err)
	}

	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("%s %s: %d, %v", method, path, res.StatusCode, err)
	}
	if err := doc.CheckBody(method, path, res.StatusCode, res.Header.Get("Content-Type"), answer); err != nil {
		t.Error(err)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			t.Errorf("%s %s: %d, %v", method, path, res.StatusCode, err)
		}
	}

	return res.StatusCode
}
