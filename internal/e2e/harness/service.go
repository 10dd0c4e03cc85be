package harness

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

// Marshal is v as JSON.
func Marshal(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ExecIn executes a shell's script in a session.
func (s *Service) ExecIn(id, script string) (res api.Result) {
	s.T.Helper()
	s.Call("POST", "/v1/sessions/"+id+"/exec", api.Exec{Argv: []string{"sh", "-c", script}}, 200, &res)
	return res
}

// ReadIn reads what the service answers to a GET of a path.
func (s *Service) ReadIn(path string) string {
	s.T.Helper()
	return s.GetText(path)
}

// A Service is brig serve in front of an agent.
type Service struct {
	T       testing.TB
	own     *testservice.Service
	Url     string
	key     string // sent with every request; empty: none
	Cmd     *exec.Cmd
	Log     *testservice.Log
	openapi *openapitest.Document // every response is checked against it
	Done    chan struct{}
	Err     error // the error of stop
}

// StartService starts brig serve in front of a, which must be shared with a group.
func StartService(t testing.TB, a *Agent, flags ...string) *Service {
	t.Helper()
	return LaunchService(t, a, filepath.Join(a.Dir, "gateway"), flags...)
}

// SharedFlags share the agent's socket with a group that every host has, and give it two slots on a
// host with one processor too.
var SharedFlags = []string{"--group", "daemon", "--slots", "2"}

// SharedGroup is the id of that group.
func SharedGroup(t testing.TB) uint32 {
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

// LaunchService is StartService with a directory for what the service keeps.
func LaunchService(t testing.TB, a *Agent, data string, flags ...string) *Service {
	t.Helper()
	return LaunchServe(t, append([]string{"--socket", a.Socket, "--data-dir", data}, flags...)...)
}

// LaunchServe starts brig serve, with its own agent if none is named. It stops with the test.
func LaunchServe(t testing.TB, flags ...string) *Service {
	t.Helper()
	own, err := testservice.Start(Binary(t, "brig"), time.Until(Patience()), flags...)
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{T: t, own: own, Url: own.URL, Cmd: own.Cmd, Log: own.Log, Done: own.Done}
	t.Cleanup(s.Stop)
	s.describe()
	return s
}

// Stop ends the service as a service manager would.
func (s *Service) Stop() {
	s.Err = s.own.Stop(Slow(30 * time.Second))
	if s.Err != nil && strings.Contains(s.Err.Error(), "did not stop in time") {
		s.T.Error(s.Err)
	}
}

// WithKey is the service for a client that sends another key.
func (s *Service) WithKey(key string) *Service {
	other := *s
	other.key = key
	return &other
}

// Request is send, and fails the test if a program ends in an error that the caller has to fix.
func (s *Service) Request(ctx context.Context, method, path string, body any, header ...string) (*http.Response, error) {
	res, err := s.Send(ctx, method, path, body, header...)
	if err == nil {
		s.WantNoFault(method, path, res)
	}
	return res, err
}

// Send sends a request; body is sent as JSON unless it is an io.Reader.
func (s *Service) Send(ctx context.Context, method, path string, body any, header ...string) (*http.Response, error) {
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

	req, err := http.NewRequestWithContext(ctx, method, s.Url+path, r)
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
			s.T.Error(err)
		}
	}

	return res, err
}

// describe fetches the service's OpenAPI description.
func (s *Service) describe() {
	s.T.Helper()
	res, err := http.Get(s.Url + "/openapi.json")
	if err != nil {
		s.T.Fatal(err)
	}
	defer res.Body.Close()

	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	if s.openapi, err = openapitest.Parse(text); err != nil {
		s.T.Fatal(err)
	}
}

// Call sends a request, demands a status, and decodes the response.
func (s *Service) Call(method, path string, body any, status int, into any, header ...string) http.Header {
	s.T.Helper()
	res, err := s.Send(s.T.Context(), method, path, body, header...)
	if err != nil {
		s.T.Fatalf("%s %s: %v\n%s", method, path, err, s.Log)
	}
	defer res.Body.Close()

	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.T.Fatalf("%s %s: %v", method, path, err)
	}
	if res.StatusCode != status {
		s.T.Errorf("%s %s: %d; want %d\n%.600s", method, path, res.StatusCode, status, text)
		return res.Header
	}
	if err := s.openapi.CheckBody(method, path, status, res.Header.Get("Content-Type"), text); err != nil {
		s.T.Error(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.T.Errorf("%s %s: %v: %.300s", method, path, err, text)
		}
	}

	return res.Header
}

// Refused sends a request that must fail with a problem of the status and code.
func (s *Service) Refused(method, path string, body any, status int, code api.Code, header ...string) http.Header {
	s.T.Helper()
	var p api.Problem
	h := s.Call(method, path, body, status, &p, header...)
	s.WantParty(p)
	if p.Code != code || p.Status != status || p.Detail == "" || h.Get("Content-Type") != "application/problem+json" {
		s.T.Errorf("%s %s: %+v of type %s; want code %s, status %d", method, path, p, h.Get("Content-Type"), code, status)
	}
	return h
}

// GetText fetches a response that is not JSON.
func (s *Service) GetText(path string) string {
	s.T.Helper()
	res, err := s.Request(s.T.Context(), "GET", path, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		s.T.Errorf("GET %s: %d, %v", path, res.StatusCode, err)
	}
	return string(text)
}

// StreamEvent is an event that was received over a stream of server-sent events.
type StreamEvent struct {
	Id, Name string
	Data     json.RawMessage
}

// Listen reads a run's events until the stream ends, or tell returns false.
func (s *Service) Listen(run, after string, tell func(StreamEvent) bool) {
	s.T.Helper()
	ctx, cancel := context.WithCancel(s.T.Context())
	defer cancel()

	var header []string
	if after != "" {
		header = []string{"Last-Event-ID", after}
	}

	res, err := s.Request(ctx, "GET", "/v1/runs/"+run+"/events", nil, header...)
	if err != nil {
		s.T.Fatal(err)
	}
	defer res.Body.Close()

	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		s.T.Fatalf("events: %d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}

	var e StreamEvent
	in := bufio.NewReaderSize(res.Body, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}

		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "" && e.Name != "":
			if !tell(e) {
				return
			}
			e = StreamEvent{}
		case name == "id":
			e.Id = value
		case name == "event":
			e.Name = value
		case name == "data":
			e.Data = json.RawMessage(value)
		}
	}
}

// StartDetached starts a run without waiting for its result.
func (s *Service) StartDetached(r api.Run) (id string) {
	s.T.Helper()
	var status struct {
		Run string `json:"run_id"`
	}
	h := s.Call("POST", "/v1/runs?wait=false", r, 202, &status)
	if h.Get("Location") != "/v1/runs/"+status.Run {
		s.T.Errorf("location %q of run %s", h.Get("Location"), status.Run)
	}
	return status.Run
}

// WaitDone waits until a run is done.
func (s *Service) WaitDone(id string) api.Status {
	s.T.Helper()

	for deadline := Patience(); ; time.Sleep(5 * time.Millisecond) {
		var status api.Status
		s.Call("GET", "/v1/runs/"+id, nil, 200, &status)
		if p := status.Error; p != nil && mustAct(&api.Error{Code: p.Code}) {
			s.T.Errorf("run %s ends in an error, not in a verdict: %s: %s", id, p.Code, p.Detail)
		}
		if status.State == api.Done || s.T.Failed() {
			return status
		}
		if time.Now().After(deadline) {
			s.T.Fatalf("run %s is still %s", id, status.State)
		}
	}
}

// KeysFile creates keys for the names; a name with "!" appended is an administrator's.
func KeysFile(t testing.TB, dir string, names ...string) (file string, tokens map[string]string) {
	t.Helper()
	tokens = map[string]string{}
	text := "keys:\n"
	for _, name := range names {
		plain := strings.TrimSuffix(name, "!")
		cmd := exec.Command(Binary(t, "brig"), "key", "new", plain)
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

// Pages reads all pages of a listing.
func Pages[T any](s *Service, path string) (all []T) {
	s.T.Helper()
	after := ""
	for {
		var page struct {
			Items []T    `json:"items"`
			Next  string `json:"next"`
		}
		s.Call("GET", fmt.Sprintf("%s&after=%s", path, after), nil, 200, &page)
		all = append(all, page.Items...)
		if page.Next == "" || s.T.Failed() {
			return all
		}
		after = page.Next
	}
}

// Eventually waits until is returns true.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := Patience(); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
