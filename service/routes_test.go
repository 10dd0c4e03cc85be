package service

import (
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A misspelled parameter is an error, and the request is not executed without it.
func TestUnknownParametersAreRefused(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) { t.Error("it was carried out") })
	web := serveFake(t, mux, nil)
	const run = `{"image":"tiny","argv":["true"]}`
	for _, tt := range []struct{ method, path, body, says string }{
		{"POST", "/v1/runs?wiat=false", run, `"wiat" does not exist here: the parameters are [wait check]`},
		{"POST", "/v1/runs?wait=false&x", run, `"x" does not exist`},
		{"POST", "/v1/runs?wait=false;check=warn", run, "semicolon"},
		{"POST", "/execute?wait=false", `{"code":"1"}`, "the parameters are [check]"},
		{"POST", "/v1/sessions?wait=false", `{}`, "there are no parameters"},
		{"GET", "/v1/languages?all=true", "", "there are no parameters"},
		{"GET", "/v1/runs/x/events?Last-Event-ID=1", "", "the parameters are [after all]"},
		{"GET", "/v1/history?verdcit=ok", "", "the parameters are [project task run language problem batch replaced verdict since until limit after all]"},
		{"GET", "/v1/stats?limit=1", "", "the parameters are [project task run language problem batch replaced verdict since until all]"},
		{"GET", "/v1/stats?after=x", "", "does not exist"},
		{"GET", "/v1/alerts?task=t", "", "the parameters are [project since until limit after all]"},
	} {
		var p api.Problem
		if s := send(t, web, tt.method, tt.path, tt.body, &p); s != 400 || p.Code != api.CodeBadRequest || !strings.Contains(p.Detail, tt.says) {
			t.Errorf("%s %s: %d %s; want %s", tt.method, tt.path, s, p.Detail, tt.says)
		}
	}

	for _, path := range []string{"/v1/history?project=p&limit=1&all=true", "/v1/stats?project=p&since=2026-01-01T00:00:00Z&all=true",
		"/v1/alerts?project=p&limit=1&all=true", "/health?x=1"} {
		if s := send(t, web, "GET", path, "", nil); s != 200 {
			t.Errorf("%s: %d", path, s)
		}
	}
}
