package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/client"
)

// API-22: callers are told nothing of the host, such as where the agent's socket is.
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

// An answer ends its line, so that a terminal's next prompt begins one.
func TestAnswersEndTheirLine(t *testing.T) {
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
