package service

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/history"
)

// While a client still waits for a run, the stopping service answers others: it is live, and
// accepts nothing new.
func TestStoppingServiceAnswers(t *testing.T) {
	mux := http.NewServeMux()
	begun, end := make(chan struct{}), make(chan struct{})
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-end
		say(w, 200, api.Result{Verdict: api.OK})
	})

	g := serveFake(t, mux, func(c *Config) { c.Grace = time.Minute }).Config.Handler.(*Gateway)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()

	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, ln) }()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // a new connection for each request
	url := "http://" + ln.Addr().String()
	run := make(chan int, 1)
	go func() { run <- requestStatus(t, c, "POST", url+"/v1/runs") }()
	<-begun
	stop()
	<-g.core.Stopping.Done()
	for range 20 {
		time.Sleep(5 * time.Millisecond) // closing a listener takes a moment
		if s := requestStatus(t, c, "GET", url+"/health/live"); s != 200 {
			t.Errorf("live: %d", s)
			break
		}
	}

	for path, want := range map[string]int{"/health": 200, "/health/ready": 503, "/v1/history": 200} {
		if s := requestStatus(t, c, "GET", url+path); s != want {
			t.Errorf("GET %s: %d; want %d", path, s, want)
		}
	}

	if s := requestStatus(t, c, "POST", url+"/v1/runs"); s != 503 {
		t.Errorf("a run: %d", s)
	}

	close(end)
	if s := <-run; s != 200 {
		t.Errorf("the run that was waited for: %d", s)
	}
	if err := <-served; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if s := requestStatus(t, c, "GET", url+"/health/live"); s != 0 {
		t.Errorf("afterwards: %d", s)
	}
}

// A run that an upgrade cuts off says so, to its client and in the history: the service stops, or the
// agent. A run that its caller cancels is canceled.
func TestRunsThatAreCutOff(t *testing.T) {
	for _, tt := range []struct {
		name  string
		async bool
		want  string // in the error; empty: the verdict is canceled
	}{
		{"the service stops", true, "the run was cut off: the service stopped before its end"},
		{"the agent stops", true, "the run was cut off: the agent stopped before its end"},
		{"the agent stops", false, "the run was cut off: the agent stopped before its end"},
		{"its caller cancels", true, ""},
	} {
		t.Run(fmt.Sprintf("%s, async %v", tt.name, tt.async), func(t *testing.T) {
			begun := make(chan struct{})
			mux := cutOffAgent(t, begun, tt.async, tt.name == "the agent stops")
			web := serveFake(t, mux, nil)
			g := web.Config.Handler.(*Gateway)
			var status api.Status
			var p api.Problem
			if tt.async {
				if s := send(t, web, "POST", "/v1/runs?wait=false", `{"image":"tiny","argv":["true"]}`, &status); s != 202 {
					t.Fatal(s)
				}
			} else if s := send(t, web, "POST", "/v1/runs", `{"image":"tiny","argv":["true"]}`, &p); s != 503 || p.Code != api.CodeStopping ||
				p.Run == "" || !p.RetrySafe {
				t.Fatalf("%d, %+v", s, p)
			}

			<-begun
			switch tt.name {
			case "the service stops":
				g.core.KillAll()
			case "its caller cancels":
				send(t, web, "DELETE", "/v1/runs/"+status.Run, "", nil)
			}

			g.core.Wait()

			recorded, err := g.runs.PastRun(t.Context(), history.Scope{Everyone: true}, cmp.Or(status.Run, p.Run))
			switch {
			case err != nil:
				t.Fatal(err)
			case tt.want == "" && (recorded.Error != nil || recorded.Result == nil || recorded.Result.Verdict != api.Canceled):
				t.Errorf("the history has %+v; want the verdict canceled", recorded)
			case tt.want != "" &&
				(recorded.Error == nil || recorded.Error.Code != api.CodeStopping || !strings.Contains(recorded.Error.Detail, tt.want)):
				t.Errorf("the history has %+v; want an error with %q", recorded.Error, tt.want)
			}
		})
	}
}

// cutOffAgent is an agent that answers that a run was canceled, or nothing until its caller leaves. A
// caller that wants events gets the answer as a frame.
func cutOffAgent(t *testing.T, begun chan struct{}, events, canceled bool) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		if !events {
			close(begun)
			say(w, 200, api.Result{Verdict: api.Canceled, Stage: api.StageRun})
			return
		}

		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()

		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: brig-stream/1\r\n\r\n")
		close(begun)
		if !canceled {
			_, _ = io.Copy(io.Discard, rw) // until the caller leaves
		}

		said := `{"verdict":"canceled","stage":"run"}`
		head := make([]byte, api.FrameHeader)
		api.PutFrameHeader(head, api.FrameResult, len(said))
		_, _ = io.WriteString(c, string(head)+said)
	})

	return mux
}
