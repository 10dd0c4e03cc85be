package service

import (
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// Nothing is kept of an exec in a session, which is in the history like a run.
func TestRequestsOfExecsAreNotKept(t *testing.T) {
	f := new(fakeSessions)
	mux := f.mux()
	mux.HandleFunc("POST /v1/sessions/{id}/exec", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Result{Verdict: api.OK}) })
	web := serveFake(t, mux, func(c *Config) { c.KeepRequests = true })
	if s := send(t, web, "POST", "/v1/sessions", made, nil); s != 201 {
		t.Fatal(s)
	}

	var res api.Result
	if s := send(t, web, "POST", "/v1/sessions/s1/exec", `{"argv":["mine","argument"],"stdin":"typed"}`, &res); s != 200 || res.Run == "" {
		t.Fatalf("%d %+v", s, res)
	}
	status, text, _ := ask(t, "GET", web.URL+"/v1/runs/"+res.Run+"?with=request", "")
	if status != 200 || strings.Contains(text, "argument") || strings.Contains(text, "typed") || strings.Contains(text, `"request"`) {
		t.Errorf("%d %s; want the record without a request", status, text)
	}
}
