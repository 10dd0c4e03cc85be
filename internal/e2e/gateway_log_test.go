package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// brig serve prints and logs one line per step, or one record each if requested, including the
// error that it ends with.
func TestServeLogsRecords(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	a.needPython(t)
	plain := startService(t, a, "--images", "python")
	if text := plain.log.String(); !strings.HasPrefix(text, "brig: python is ready (1 of 1)\nbrig serves ") {
		t.Errorf("a start says\n%s", text)
	}

	plain.stop()
	s := startService(t, a, "--images", "python", "--log-format", "json")
	s.call("POST", "/v1/runs", sh("true"), 200, nil)
	s.stop()
	seen := map[string]bool{}
	for line := range strings.Lines(s.log.String()) {
		var record struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Time == "" || record.Level == "" || record.Msg == "" {
			t.Errorf("%v: %s", err, line)
		}
		first, _, _ := strings.Cut(record.Msg, " ")
		seen[first] = true
	}

	if !seen["python"] || !seen["brig"] || !seen["run"] || !seen["stopping:"] {
		t.Errorf("the log has %v\n%s", seen, s.log)
	}
}
