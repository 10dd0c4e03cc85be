package service

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// A check is a run of its caller: it has the weight and the processors of the key, and the mode of
// the key or of the run that it is for (CPU-13).
func TestAChecksRunHasTheKeysBounds(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "low", Weight: 2, CPUs: 0.1, Mode: api.Exclusive}, auth.Key{Name: "free"})
	var asked []api.Run
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		var run api.Run
		if err := json.NewDecoder(r.Body).Decode(&run); err != nil {
			t.Error(err)
		}
		asked = append(asked, run)
		say(w, 200, api.Result{Verdict: api.OK})
	})

	web := serveFake(t, mux, func(c *Config) { c.Keys = keys })
	for _, tt := range []struct {
		name, key, path, body string
		weight                int64
		cpus                  float64
		mode                  api.Mode
	}{
		{"a check", "low", "/v1/check", `{"language":"python","source":"x"}`, 2, 0.1, api.Exclusive},
		{"a check before a run", "low", "/v1/runs?check=warn", `{"language":"python","source":"x"}`, 2, 0.1, api.Exclusive},
		{"a check before a run with a mode", "low", "/v1/runs?check=warn",
			`{"language":"python","source":"x","mode":"fresh"}`, 2, 0.1, api.Fresh},
		{"a check before an execute", "low", "/execute?check=warn", `{"language":"python","code":"x"}`, 2, 0.1, api.Exclusive},
		{"a check without bounds", "free", "/v1/check", `{"language":"python","source":"x"}`, 0, 0, ""},
	} {
		asked = nil
		if s := send(t, web, "POST", tt.path, tt.body, nil, as[tt.key]...); s != 200 || len(asked) == 0 {
			t.Fatalf("%s: %d, %d runs", tt.name, s, len(asked))
		}
		if r := asked[0]; !r.Collect.None || r.Limits.Weight != tt.weight || r.Limits.CPUs != tt.cpus || r.Mode != tt.mode {
			t.Errorf("%s: weight %d, cpus %v, mode %q; want %d, %v, %q", tt.name, r.Limits.Weight, r.Limits.CPUs, r.Mode,
				tt.weight, tt.cpus, tt.mode)
		}
	}
}
