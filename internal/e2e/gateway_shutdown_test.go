package e2e

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
	"github.com/brig-sandbox/brig/service/client"
)

// gatewayResponse is the response to a caller: a status, and a result or a problem.
type gatewayResponse struct {
	status  int
	result  api.Result
	problem api.Problem
}

// postAsync sends a request from a waiting caller, and delivers the response.
func (s *service) postAsync(path string, body any) <-chan gatewayResponse {
	got := make(chan gatewayResponse, 1)
	go func() {
		var a gatewayResponse
		defer func() { got <- a }()

		res, err := s.request(s.t.Context(), "POST", path, body)
		if err != nil {
			s.t.Errorf("POST %s: %v", path, err)
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
			s.t.Errorf("POST %s: %d, %v: %.300s", path, res.StatusCode, err, text)
		}
	}()

	return got
}

// waitLoad waits until the given number of runs are under way.
func (s *service) waitLoad(runs int) {
	s.t.Helper()
	eventually(s.t, "runs under way", func() bool {
		var h struct{ Load int }
		s.call("GET", "/health", nil, 200, &h)
		return h.Load == runs
	})
}

// SIGTERM: requests received before it are finished within the grace period and answered normally,
// and nothing new is started.
func TestGatewayStopsAfterRunningWork(t *testing.T) {
	a := startAgent(t, "--group", "daemon", "--slots", "4", "--max-wall", "10m")
	s := launchService(t, a, filepath.Join(a.dir, "gateway"), "--grace", "10m")
	id := s.session("p", "t")
	long, short := sh("sleep 600"), sh("sleep 5; echo done")
	long.Limits = api.Limits{Wall: seconds(300), Memory: 64 * api.MiB} // all run at once, on a small machine too
	short.Limits.Memory = long.Limits.Memory
	held := s.startDetached(long)
	exec := s.postAsync("/v1/sessions/"+id+"/exec",
		api.Exec{Argv: []string{"sh", "-c", "until [ -e go ]; do sleep 0.02; done; echo gone"}, Limits: api.Limits{Wall: long.Limits.Wall}})
	run := s.postAsync("/v1/runs", short)
	s.waitLoad(3)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	eventually(t, "the service to be stopping", func() bool {
		var h struct{ Status string }
		s.call("GET", "/health", nil, 200, &h)
		return h.Status == "stopping"
	})

	var st api.Status
	if s.call("GET", "/v1/runs/"+held, nil, 200, &st); st.State != api.Running {
		t.Errorf("the run that nobody waits for is %+v; want it running", st)
	}

	s.call("DELETE", "/v1/runs/"+held, nil, 200, nil)
	s.waitDone(held)
	for range 20 { // new connections are still answered, for the sake of waiting callers
		time.Sleep(5 * time.Millisecond)
		s.call("GET", "/health/live", nil, 200, nil)
	}

	for _, path := range []string{"/v1/runs", "/v1/runs?wait=false"} {
		s.refused("POST", path, sh("true"), 503, api.CodeStopping)
	}

	s.refused("POST", "/v1/sessions", api.SessionRequest{Image: "tiny"}, 503, api.CodeStopping)
	s.refused("POST", "/v1/sessions/"+id+"/exec", api.Exec{Argv: []string{"true"}}, 503, api.CodeStopping)
	s.call("GET", "/v1/history", nil, 200, nil)

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
	case <-s.done: // long before the grace period ends
	case <-time.After(time.Until(patience())):
		t.Errorf("it goes on with nothing to do\n%s", s.log)
	}

	if s.stop(); s.err != nil {
		t.Errorf("it ends with %v\n%s", s.err, s.log)
	}
	if left, err := a.Sessions(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("sessions %+v are left, %v", left, err)
	}
}

// Work that outlasts the grace period is canceled at its end, and every caller gets a response that says so: a
// run that was cut off is no result of its program.
func TestGatewayStops(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	data := filepath.Join(a.dir, "gateway")
	const grace = time.Second
	s := launchService(t, a, data, "--grace", grace.String())
	id := s.startDetached(sh("echo on; sleep 600"))
	last, begun := make(chan streamEvent, 1), make(chan struct{})
	go func() {
		var l streamEvent
		s.listen(id, "", func(e streamEvent) bool {
			if e.name == "stdout" {
				close(begun)
			}
			l = e
			return true
		})
		last <- l
	}()

	run := s.postAsync("/v1/runs", sh("sleep 600"))
	s.waitLoad(2)
	<-begun
	stops, waited := time.Now(), ""
	s.stop()
	if s.err != nil {
		t.Errorf("it ends with %v\n%s", s.err, s.log)
	}
	if took := time.Since(stops); took < grace || took > slow(20*time.Second) {
		t.Errorf("it ends after %v; the grace is %v", took, grace)
	}
	if got := <-run; got.status != 503 || got.problem.Code != api.CodeStopping || !got.problem.RetrySafe || got.problem.Run == "" {
		t.Errorf("a caller that waited gets %+v; want 503, code %s, and the run's id", got, api.CodeStopping)
	} else {
		waited = got.problem.Run
	}

	end := <-last
	var cut api.Problem
	if err := json.Unmarshal(end.data, &cut); end.name != "error" || err != nil || cut.Code != api.CodeStopping || !cut.RetrySafe {
		t.Errorf("the last event is %s %s, %v; want the error %s", end.name, end.data, err, api.CodeStopping)
	}
	if text := s.log.String(); !strings.Contains(text, "runs may continue for 1s") {
		t.Errorf("it does not say how long what runs may go on:\n%s", text)
	}

	s = launchService(t, a, data)
	for _, id := range []string{id, waited} {
		var st api.Status
		if s.call("GET", "/v1/runs/"+id, nil, 200, &st); st.Result != nil || st.Error == nil {
			t.Errorf("afterwards the history has %+v of %q", st, id)
		}
	}
}

// An exec that is still running at the end of the grace period is answered as after any other end
// of its session: its effects are gone, and it must not be sent again.
func TestGatewayStopEndsExecs(t *testing.T) {
	a := startAgent(t, "--group", "daemon", "--slots", "3")
	data := filepath.Join(a.dir, "gateway")
	s := launchService(t, a, data, "--grace", "1s")
	plain := longExec(t, client.New(s.url, ""), s.session("p", "plain"))
	streamed := longExec(t, streamingClient{client.New(s.url, "")}, s.session("p", "streamed"))
	s.stop()
	if s.err != nil {
		t.Errorf("it ends with %v\n%s", s.err, s.log)
	}

	wantSessionEnded(t, <-plain, "the service stops")
	wantSessionEnded(t, <-streamed, "the service stops")
	s = launchService(t, a, data)
	runs := pages[struct {
		ID string `json:"run_id"`
	}](s, "/v1/history?limit=100&project=p&verdict=canceled")
	if len(runs) != 2 {
		t.Fatalf("the history has %+v", runs)
	}

	for _, r := range runs {
		var st api.Status
		if s.call("GET", "/v1/runs/"+r.ID, nil, 200, &st); st.Result == nil {
			t.Fatalf("kept as %+v", st)
		}
		wantSessionEnded(t, *st.Result, "the service stops")
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
	a := startAgent(t, sharedFlags...)
	s := startService(t, a, "--grace", "1s")
	id := s.session("p", "t")
	s.call("PUT", "/v1/sessions/"+id+"/files/large", io.Reader(strings.NewReader(strings.Repeat("x", 40<<20))), 204, nil)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
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
	s.stop()
	if s.err != nil {
		t.Errorf("it ended with %v\n%s", s.err, s.log)
	}
	if took := time.Since(begun); took > slow(20*time.Second) {
		t.Errorf("it took %v to end", took)
	}
	if left, err := a.Sessions(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("sessions %+v are left, %v", left, err)
	}
}
