package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/openapitest"
	"github.com/brig-sandbox/brig/internal/testservice"
)

// A service is brig serve in front of an agent.
type service struct {
	t       testing.TB
	own     *testservice.Service
	url     string
	key     string // sent with every request; empty: none
	cmd     *exec.Cmd
	log     *testservice.Log
	openapi *openapitest.Document // every response is checked against it
	done    chan struct{}
	err     error // the error of stop
}

// startService starts brig serve in front of a, which must be shared with a group.
func startService(t testing.TB, a *agent, flags ...string) *service {
	t.Helper()
	return launchService(t, a, filepath.Join(a.dir, "gateway"), flags...)
}

// sharedFlags share the agent's socket with a group that every host has, and give it two slots on a
// host with one processor too.
var sharedFlags = []string{"--group", "daemon", "--slots", "2"}

// sharedGroup is the id of that group.
func sharedGroup(t testing.TB) uint32 {
	t.Helper()
	group, err := user.LookupGroup("daemon")
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(group.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(gid)
}

func launchService(t testing.TB, a *agent, data string, flags ...string) *service {
	t.Helper()
	return launchServe(t, append([]string{"--socket", a.socket, "--data-dir", data}, flags...)...)
}

// launchServe starts brig serve, with its own agent if none is named. It stops with the test.
func launchServe(t testing.TB, flags ...string) *service {
	t.Helper()
	own, err := testservice.Start(binary(t, "brig"), time.Until(patience()), flags...)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, own: own, url: own.URL, cmd: own.Cmd, log: own.Log, done: own.Done}
	t.Cleanup(s.stop)
	s.describe()
	return s
}

// stop ends the service as a service manager would.
func (s *service) stop() {
	s.err = s.own.Stop(slow(30 * time.Second))
	if s.err != nil && strings.Contains(s.err.Error(), "did not stop in time") {
		s.t.Error(s.err)
	}
}

func (s *service) withKey(key string) *service {
	other := *s
	other.key = key
	return &other
}

// request is send, and fails the test if a program ends in an error that the caller has to fix.
func (s *service) request(ctx context.Context, method, path string, body any, header ...string) (*http.Response, error) {
	res, err := s.send(ctx, method, path, body, header...)
	if err == nil {
		s.wantNoFault(method, path, res)
	}
	return res, err
}

// send sends a request; body is sent as JSON unless it is an io.Reader.
func (s *service) send(ctx context.Context, method, path string, body any, header ...string) (*http.Response, error) {
	var r io.Reader
	kind := "application/json"
	switch b := body.(type) {
	case nil:
	case io.Reader:
		r, kind = b, "application/octet-stream"
	case string:
		r = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(text)
	}

	req, err := http.NewRequestWithContext(ctx, method, s.url+path, r)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}

	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}

	res, err := http.DefaultClient.Do(req)
	if err == nil {
		if err := s.openapi.CheckStatus(method, path, res.StatusCode); err != nil {
			s.t.Error(err)
		}
	}

	return res, err
}

// describe fetches the service's OpenAPI description.
func (s *service) describe() {
	s.t.Helper()
	res, err := http.Get(s.url + "/openapi.json")
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()

	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.openapi, err = openapitest.Parse(text); err != nil {
		s.t.Fatal(err)
	}
}

// call sends a request, demands a status, and decodes the response.
func (s *service) call(method, path string, body any, status int, into any, header ...string) http.Header {
	s.t.Helper()
	res, err := s.send(s.t.Context(), method, path, body, header...)
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", method, path, err, s.log)
	}
	defer res.Body.Close()

	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	if res.StatusCode != status {
		s.t.Errorf("%s %s: %d; want %d\n%.600s", method, path, res.StatusCode, status, text)
		return res.Header
	}
	if err := s.openapi.CheckBody(method, path, status, res.Header.Get("Content-Type"), text); err != nil {
		s.t.Error(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.t.Errorf("%s %s: %v: %.300s", method, path, err, text)
		}
	}

	return res.Header
}

// refused sends a request that must fail with a problem of the status and code.
func (s *service) refused(method, path string, body any, status int, code api.Code, header ...string) http.Header {
	s.t.Helper()
	var p api.Problem
	h := s.call(method, path, body, status, &p, header...)
	s.wantParty(p)
	if p.Code != code || p.Status != status || p.Detail == "" || h.Get("Content-Type") != "application/problem+json" {
		s.t.Errorf("%s %s: %+v of type %s; want code %s, status %d", method, path, p, h.Get("Content-Type"), code, status)
	}
	return h
}

// getText fetches a response that is not JSON.
func (s *service) getText(path string) string {
	s.t.Helper()
	res, err := s.request(s.t.Context(), "GET", path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		s.t.Errorf("GET %s: %d, %v", path, res.StatusCode, err)
	}
	return string(text)
}

// streamEvent is an event that was received over a stream of server-sent events.
type streamEvent struct {
	id, name string
	data     json.RawMessage
}

// listen reads a run's events until the stream ends, or tell returns false.
func (s *service) listen(run, after string, tell func(streamEvent) bool) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()

	var header []string
	if after != "" {
		header = []string{"Last-Event-ID", after}
	}

	res, err := s.request(ctx, "GET", "/v1/runs/"+run+"/events", nil, header...)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()

	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("events: %d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}

	var e streamEvent
	in := bufio.NewReaderSize(res.Body, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}

		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "" && e.name != "":
			if !tell(e) {
				return
			}
			e = streamEvent{}
		case name == "id":
			e.id = value
		case name == "event":
			e.name = value
		case name == "data":
			e.data = json.RawMessage(value)
		}
	}
}

// startDetached starts a run without waiting for its result.
func (s *service) startDetached(r api.Run) (id string) {
	s.t.Helper()
	var status struct {
		Run string `json:"run_id"`
	}
	h := s.call("POST", "/v1/runs?wait=false", r, 202, &status)
	if h.Get("Location") != "/v1/runs/"+status.Run {
		s.t.Errorf("location %q of run %s", h.Get("Location"), status.Run)
	}
	return status.Run
}

// runAsync sends a run for a waiting caller, and delivers the response's status; zero if there was no
// response.
func (s *service) runAsync(r api.Run) <-chan int {
	status := make(chan int, 1)
	go func() {
		res, err := s.request(s.t.Context(), "POST", "/v1/runs", r)
		if err != nil {
			status <- 0
			return
		}
		res.Body.Close()
		status <- res.StatusCode
	}()
	return status
}

// waitDone waits until a run is done.
func (s *service) waitDone(id string) api.Status {
	s.t.Helper()

	for deadline := patience(); ; time.Sleep(5 * time.Millisecond) {
		var status api.Status
		s.call("GET", "/v1/runs/"+id, nil, 200, &status)
		if p := status.Error; p != nil && mustAct(&api.Error{Code: p.Code}) {
			s.t.Errorf("run %s ends in an error, not in a verdict: %s: %s", id, p.Code, p.Detail)
		}
		if status.State == api.Done || s.t.Failed() {
			return status
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("run %s is still %s", id, status.State)
		}
	}
}

// keysFile creates keys for the names; a name with "!" appended is an administrator's.
func keysFile(t testing.TB, dir string, names ...string) (file string, tokens map[string]string) {
	t.Helper()
	tokens = map[string]string{}
	text := "keys:\n"
	for _, name := range names {
		plain := strings.TrimSuffix(name, "!")
		cmd := exec.Command(binary(t, "brig"), "key", "new", plain)
		var said bytes.Buffer
		cmd.Stderr = &said
		line, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if plain != name {
			line = bytes.Replace(line, []byte("}"), []byte(", admin: true}"), 1)
		}

		text += string(line)
		fields := strings.Fields(said.String())
		tokens[plain] = fields[len(fields)-1]
	}

	file = filepath.Join(dir, "keys.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, tokens
}

// pages reads all pages of a listing.
func pages[T any](s *service, path string) (all []T) {
	s.t.Helper()
	after := ""
	for {
		var page struct {
			Items []T    `json:"items"`
			Next  string `json:"next"`
		}
		s.call("GET", fmt.Sprintf("%s&after=%s", path, after), nil, 200, &page)
		all = append(all, page.Items...)
		if page.Next == "" || s.t.Failed() {
			return all
		}
		after = page.Next
	}
}

// eventually waits until is returns true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := patience(); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
