package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/service/client"
)

// gatewayResponse is the response to a caller: a status, and a result or a problem.
type gatewayResponse struct {
	status  int
	result  api.Result
	problem api.Problem
}

// postAsync sends a request from a waiting caller, and delivers the response.
func postAsync(s *harness.Service, path string, body any) <-chan gatewayResponse {
	got := make(chan gatewayResponse, 1)
	go func() {
		var a gatewayResponse
		defer func() { got <- a }()

		res, err := s.Request(s.T.Context(), "POST", path, body)
		if err != nil {
			s.T.Errorf("POST %s: %v", path, err)
			return
		}
		defer res.Body.Close()

		text, err := io.ReadAll(res.Body)
		if a.status = res.StatusCode; err == nil && a.status == http.StatusOK {
			err = json.Unmarshal(text, &a.result)
		} else if err == nil {
			err = json.Unmarshal(text, &a.problem)
		}
		if err != nil {
			s.T.Errorf("POST %s: %d, %v: %.300s", path, res.StatusCode, err, text)
		}
	}()

	return got
}

// waitLoad waits until the given number of runs are under way.
func waitLoad(s *harness.Service, runs int) {
	s.T.Helper()
	harness.Eventually(s.T, "runs under way", func() bool {
		var h struct{ Load int }
		s.Call("GET", "/health", nil, 200, &h)
		return h.Load == runs
	})
}

// SIGTERM: requests received before it are finished within the grace period and answered normally,
// and nothing new is started.
func TestGatewayStopsAfterRunningWork(t *testing.T) {
	a := harness.StartAgent(t, "--group", "daemon", "--slots", "4", "--max-wall", "10m")
	s := harness.LaunchService(t, a, filepath.Join(a.Dir, "gateway"), "--grace", "10m")
	id := newSession(s, "p", "t")
	long, short := harness.Sh("sleep 600"), harness.Sh("sleep 5; echo done")
	long.Limits = api.Limits{Wall: harness.Seconds(300), Memory: 64 * api.MiB} // all run at once, on a small machine too
	short.Limits.Memory = long.Limits.Memory
	held := s.StartDetached(long)
	exec := postAsync(s, "/v1/sessions/"+id+"/exec",
		api.Exec{Argv: []string{"sh", "-c", "until [ -e go ]; do sleep 0.02; done; echo gone"}, Limits: api.Limits{Wall: long.Limits.Wall}})
	run := postAsync(s, "/v1/runs", short)
	waitLoad(s, 3)
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	harness.Eventually(t, "the service to be stopping", func() bool {
		var h struct{ Status string }
		s.Call("GET", "/health", nil, 200, &h)
		return h.Status == "stopping"
	})

	var st api.Status
	if s.Call("GET", "/v1/runs/"+held, nil, 200, &st); st.State != api.Running {
		t.Errorf("the run that nobody waits for is %+v; want it running", st)
	}

	s.Call("DELETE", "/v1/runs/"+held, nil, 200, nil)
	s.WaitDone(held)
	for range 20 { // new connections are still answered, for the sake of waiting callers
		time.Sleep(5 * time.Millisecond)
		s.Call("GET", "/health/live", nil, 200, nil)
	}

	for _, path := range []string{"/v1/runs", "/v1/runs?wait=false"} {
		s.Refused("POST", path, harness.Sh("true"), 503, api.CodeStopping)
	}

	s.Refused("POST", "/v1/sessions", api.SessionRequest{Image: "tiny"}, 503, api.CodeStopping)
	s.Refused("POST", "/v1/sessions/"+id+"/exec", api.Exec{Argv: []string{"true"}}, 503, api.CodeStopping)
	s.Call("GET", "/v1/history", nil, 200, nil)

	if err := a.PutFile(t.Context(), id, "go",
		bytes.NewReader(nil), false); err != nil { // only now, so the exec continues while the service is stopping
		t.Fatal(err)
	}

	for want, got := range map[string]gatewayResponse{"gone\n": <-exec, "done\n": <-run} {
		if got.status != 200 || got.result.Verdict != api.OK || string(got.result.Stdout) != want {
			t.Errorf("a request that waited for %q gets %+v", want, got)
		}
	}

	select {
	case <-s.Done: // long before the grace period ends
	case <-time.After(time.Until(harness.Patience())):
		t.Errorf("it goes on with nothing to do\n%s", s.Log)
	}

	if s.Stop(); s.Err != nil {
		t.Errorf("it ends with %v\n%s", s.Err, s.Log)
	}
	if left, err := a.Sessions(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("sessions %+v are left, %v", left, err)
	}
}

// Work that outlasts the grace period is canceled at its end, and every caller gets a response that says so: a
// run that was cut off is no result of its program.
func TestGatewayStops(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	data := filepath.Join(a.Dir, "gateway")
	const grace = time.Second
	s := harness.LaunchService(t, a, data, "--grace", grace.String())
	id := s.StartDetached(harness.Sh("echo on; sleep 600"))
	last, begun := make(chan harness.StreamEvent, 1), make(chan struct{})
	go func() {
		var l harness.StreamEvent
		s.Listen(id, "", func(e harness.StreamEvent) bool {
			if e.Name == "stdout" {
				close(begun)
			}
			l = e
			return true
		})
		last <- l
	}()

	run := postAsync(s, "/v1/runs", harness.Sh("sleep 600"))
	waitLoad(s, 2)
	<-begun
	stops, waited := time.Now(), ""
	s.Stop()
	if s.Err != nil {
		t.Errorf("it ends with %v\n%s", s.Err, s.Log)
	}
	if took := time.Since(stops); took < grace || took > harness.Slow(20*time.Second) {
		t.Errorf("it ends after %v; the grace is %v", took, grace)
	}
	if got := <-run; got.status != 503 || got.problem.Code != api.CodeStopping || !got.problem.RetrySafe || got.problem.Run == "" {
		t.Errorf("a caller that waited gets %+v; want 503, code %s, and the run's id", got, api.CodeStopping)
	} else {
		waited = got.problem.Run
	}

	end := <-last
	var cut api.Problem
	if err := json.Unmarshal(end.Data, &cut); end.Name != "error" || err != nil || cut.Code != api.CodeStopping || !cut.RetrySafe {
		t.Errorf("the last event is %s %s, %v; want the error %s", end.Name, end.Data, err, api.CodeStopping)
	}
	if text := s.Log.String(); !strings.Contains(text, "runs may continue for 1s") {
		t.Errorf("it does not say how long what runs may go on:\n%s", text)
	}

	s = harness.LaunchService(t, a, data)
	for _, id := range []string{id, waited} {
		var st api.Status
		if s.Call("GET", "/v1/runs/"+id, nil, 200, &st); st.Result != nil || st.Error == nil {
			t.Errorf("afterwards the history has %+v of %q", st, id)
		}
	}
}

// An exec that is still running at the end of the grace period is answered as after any other end
// of its session: its effects are gone, and it must not be sent again.
func TestGatewayStopEndsExecs(t *testing.T) {
	a := harness.StartAgent(t, "--group", "daemon", "--slots", "3")
	data := filepath.Join(a.Dir, "gateway")
	s := harness.LaunchService(t, a, data, "--grace", "1s")
	plain := harness.LongExec(t, client.New(s.Url, ""), newSession(s, "p", "plain"))
	streamed := harness.LongExec(t, streamingClient{client.New(s.Url, "")}, newSession(s, "p", "streamed"))
	s.Stop()
	if s.Err != nil {
		t.Errorf("it ends with %v\n%s", s.Err, s.Log)
	}

	harness.WantSessionEnded(t, <-plain, "the service stops")
	harness.WantSessionEnded(t, <-streamed, "the service stops")
	s = harness.LaunchService(t, a, data)
	runs := harness.Pages[struct {
		ID string `json:"run_id"`
	}](s, "/v1/history?limit=100&project=p&verdict=canceled")
	if len(runs) != 2 {
		t.Fatalf("the history has %+v", runs)
	}

	for _, r := range runs {
		var st api.Status
		if s.Call("GET", "/v1/runs/"+r.ID, nil, 200, &st); st.Result == nil {
			t.Fatalf("kept as %+v", st)
		}
		harness.WantSessionEnded(t, *st.Result, "the service stops")
	}
}

// streamingClient is a client whose execs stream their output.
type streamingClient struct{ *client.Client }

func (s streamingClient) Exec(ctx context.Context, id string, e api.Exec) (api.Result, error) {
	return s.ExecEvents(ctx, id, e, func(client.Event) error { return nil })
}

// A client that does not read its answer delays the shutdown by no more than the stated time, and
// no session outlives the service because of it.
func TestGatewayEndsDespiteASlowReader(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a, "--grace", "1s")
	id := newSession(s, "p", "t")
	s.Call("PUT", "/v1/sessions/"+id+"/files/large", io.Reader(strings.NewReader(strings.Repeat("x", 40<<20))), 204, nil)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.Url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	if _, err := fmt.Fprintf(c, "GET /v1/sessions/%s/files/large HTTP/1.1\r\nHost: localhost\r\n\r\n", id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil { // the answer arrives, and the rest is not read
		t.Fatal(err)
	}

	begun := time.Now()
	s.Stop()
	if s.Err != nil {
		t.Errorf("it ended with %v\n%s", s.Err, s.Log)
	}
	if took := time.Since(begun); took > harness.Slow(20*time.Second) {
		t.Errorf("it took %v to end", took)
	}
	if left, err := a.Sessions(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("sessions %+v are left, %v", left, err)
	}
}
