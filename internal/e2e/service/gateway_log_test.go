package service

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// brig serve prints and logs one line per step, or one record each if requested, including the
// error that it ends with.
func TestServeLogsRecords(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	plain := harness.StartService(t, a, "--images", "python")
	if text := plain.Log.String(); !strings.HasPrefix(text, "brig: python is ready (1 of 1)\nbrig serves ") {
		t.Errorf("a start says\n%s", text)
	}

	plain.Stop()
	s := harness.StartService(t, a, "--images", "python", "--log-format", "json")
	s.Call("POST", "/v1/runs", harness.Sh("true"), 200, nil)
	s.Stop()
	seen := map[string]bool{}
	for line := range strings.Lines(s.Log.String()) {
		var record struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Time == "" || record.Level == "" || record.Msg == "" {
			t.Errorf("%v: %s", err, line)
		}
		first, _, _ := strings.Cut(record.Msg, " ")
		seen[first] = true
	}

	if !seen["python"] || !seen["brig"] || !seen["run"] || !seen["stopping:"] {
		t.Errorf("the log has %v\n%s", seen, s.Log)
	}
}
