package service

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// The error for a refused limit has the name and value that the caller wrote.
func TestExecuteNamesTheCallersTimeout(t *testing.T) {
	mux := http.NewServeMux()
	var says *api.Error
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) { deny(w, 400, says) })
	web := serveFake(t, mux, nil)
	over := api.Limits{Wall: api.Duration(90 * time.Second), CPU: api.Duration(90 * time.Second)}
	short := api.Limits{Wall: api.Duration(100 * time.Microsecond)}
	for _, tt := range []struct {
		body string
		says error
		want string
	}{
		{`{"code":"x","timeout_seconds":90}`, over.Within(api.Limits{Wall: api.Duration(time.Minute)}),
			"timeout_seconds is 90, above this agent's ceiling of 1m0s: ask for less"},
		{`{"code":"x","timeout_seconds":90}`, over.Within(api.Limits{CPU: api.Duration(time.Minute)}),
			"timeout_seconds is 90, above this agent's ceiling of 1m0s: ask for less"},
		{`{"code":"x","timeout_seconds":0.0001}`, short.Validate(), "timeout_seconds is 0.0001: the least is 1ms"},
		{`{"code":"x"}`, over.Within(api.Limits{Wall: api.Duration(time.Minute)}), "limit wall is 1m30s"},
		{`{"code":"x","timeout_seconds":1}`, api.Refuse(api.CodeAboveCeiling, "limit memory is 8G"), "limit memory is 8G"},
	} {
		if !errors.As(tt.says, &says) {
			t.Fatal(tt.says)
		}
		var p api.Problem
		if s := send(t, web, "POST", "/execute", tt.body, &p); s != 400 || p.Code != says.Code || !strings.HasPrefix(p.Detail, tt.want) {
			t.Errorf("%s: %d, %+v; want %q", tt.body, s, p, tt.want)
		}
	}
}
