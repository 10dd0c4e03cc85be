package service

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/queue"
)

// API-22: callers learn nothing about the host, such as the path of the agent's socket.
func TestProblemsNameNoPaths(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	var agent api.Problem
	web := serveFake(t, mux, nil)
	if s := send(t, web, "POST", "/v1/runs", `{"image":"tiny","argv":["true"]}`, &agent); s != 502 || agent.Code != api.CodeAgentGone {
		t.Errorf("an agent that goes away: %d, %+v", s, agent)
	}

	var none api.Problem
	web = serveFake(t, http.NewServeMux(), func(c *Config) { c.Agent = client.New("/nowhere/brigd.sock") })
	if s := send(t, web, "POST", "/v1/runs", `{"image":"tiny","argv":["true"]}`, &none); s != 503 || none.Code != api.CodeAgentUnreachable {
		t.Errorf("no agent: %d, %+v", s, none)
	}

	for _, p := range []api.Problem{agent, none} {
		if strings.Contains(p.Detail, "/") || p.Detail == "" {
			t.Errorf("%s: %q", p.Code, p.Detail)
		}
	}
}

// A response ends with a newline, so that a terminal's next prompt starts on its own line.
func TestResponsesEndWithANewline(t *testing.T) {
	web := serveFake(t, http.NewServeMux(), nil)
	res, err := http.Get(web.URL + "/nothing")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || !strings.HasSuffix(string(b), "}\n") || int64(len(b)) != res.ContentLength {
		t.Errorf("%d bytes announced, and %q, %v", res.ContentLength, b, err)
	}
}

// The run that an error names can be queried. Failures of the service are logged once, other errors
// not at all.
func TestProblemsNameRunsOfThisService(t *testing.T) {
	mux := http.NewServeMux()
	var says *api.Error
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		status := 500
		if says.Code == api.CodeBadProgram {
			status = 422
		}
		deny(w, status, says)
	})

	var log bytes.Buffer
	web := serveFake(t, mux, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, tt := range []struct {
		code   api.Code
		status int
		logged int
	}{{api.CodeInternal, 500, 1}, {api.CodeBadProgram, 422, 0}, {api.CodeStopping, 503, 0}} {
		says = api.Fail(tt.code, "as it is")
		says.Run = "theagents"
		log.Reset()
		var p api.Problem
		if s := send(t, web, "POST", "/v1/runs", `{"image":"tiny","argv":["true"]}`, &p); s != tt.status {
			t.Errorf("%s: %d, %+v", tt.code, s, p)
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != tt.logged {
			t.Errorf("%s: logged %d times\n%s", tt.code, n, &log)
		}

		var st api.Status
		switch {
		case tt.logged == 0 && p.Run != "":
			t.Errorf("%s: run %q; want none, it never began", tt.code, p.Run)
		case tt.logged == 1 && (send(t, web, "GET", "/v1/runs/"+p.Run, "", &st) != 200 || st.Error == nil || st.Error.Code != tt.code):
			t.Errorf("%s: run %q is %+v", tt.code, p.Run, st)
		}
	}
}

// The errors for a full queue and for a wrong method say what to do.
func TestErrorsSayWhatToDo(t *testing.T) {
	for _, tt := range []struct {
		full queue.Full
		code api.Code
		want string
	}{
		{queue.Full{Bound: "queue", Max: 256, Waiting: 256}, api.CodeQueueFull,
			"the queue is full: 256 requests wait, and 256 may wait: send it again later, send fewer at once, or " +
				"have the operator raise --queue"},
		{queue.Full{Bound: "key", Max: 8, Waiting: 8}, api.CodeKeyQueueFull,
			"the queue is full: 8 requests of this key wait, and 8 may wait: send it again later, send fewer at " +
				"once, or have the operator raise waiting of the key in the keys file"},
	} {
		p, ours := core.ProblemFor(&tt.full)
		if ours || p.Status != 429 || p.Code != tt.code || !p.RetrySafe || p.Detail != tt.want {
			t.Errorf("%+v: %+v; want %q", tt.full, p, tt.want)
		}
	}
}
