package service

import (
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// A key reads what it sent again, if it asks, and another key does not. With the setting off nothing is kept.
func TestRequestsAreKept(t *testing.T) {
	for _, on := range []bool{true, false} {
		keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"}, auth.Key{Name: "root", Admin: true})
		agent := http.NewServeMux()
		agent.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Result{Verdict: api.OK}) })
		web := serveFake(t, agent, func(c *Config) { c.Keys, c.KeepRequests = keys, on })

		var res api.Result
		body := `{"language":"python","source":"print(input())","stdin":"hello","env":{"TOKEN":"secret"},"argv":["a"]}`
		if status := send(t, web, "POST", "/v1/runs", body, &res, as["ann"]...); status != 200 || res.Run == "" {
			t.Fatalf("%d %+v", status, res)
		}

		// A run that nobody waits for is known for a while after its end without the history.
		var later api.Status
		if status := send(t, web, "POST", "/v1/runs?wait=false", body, &later, as["ann"]...); status != 202 {
			t.Fatalf("%d %+v", status, later)
		}
		for later.State != api.Done {
			if status := send(t, web, "GET", "/v1/runs/"+later.Run+"?with=request", "", &later, as["ann"]...); status != 200 {
				t.Fatalf("%d %+v", status, later)
			}
		}
		if (later.Request != nil) != on {
			t.Errorf("kept %v, of a run that nobody waited for: %+v", on, later.Request)
		}

		for _, tt := range []struct {
			key, query string
			status     int
			says       bool
		}{
			{"ann", "", 200, false}, {"ann", "?with=request", 200, on}, {"bob", "?with=request", 404, false},
			{"root", "?with=request", 404, false}, {"root", "?with=request&all=true", 200, on}, {"ann", "?with=all", 400, false},
		} {
			status, text, _ := ask(t, "GET", web.URL+"/v1/runs/"+res.Run+tt.query, "", as[tt.key]...)
			said := strings.Contains(text, `"source":"print(input())"`) && strings.Contains(text, `"stdin":"hello"`)
			if status != tt.status || said != tt.says || strings.Contains(text, "secret") {
				t.Errorf("kept %v, %s%s: %d %.300s", on, tt.key, tt.query, status, text)
			}
		}
	}
}
