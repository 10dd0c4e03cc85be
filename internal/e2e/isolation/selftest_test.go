package isolation

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Every check of brig selftest is a real run here, and every one succeeds: its own, and the cases
// of the corpus that do no harm.
func TestSelftestHolds(t *testing.T) {
	a := harness.StartAgent(t)
	cmd := exec.Command(harness.Binary(t, "brig"), "selftest", "--json", "--socket", filepath.Join(a.Dir, "s"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("brig selftest: %v\n%s", err, out)
	}

	var all []struct {
		ID     string `json:"id"`
		OK     bool   `json:"ok"`
		Reason string `json:"reason"`
	}

	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("brig selftest --json: %v\n%s", err, out)
	}

	harmless := 0
	for _, e := range harness.Expectations(t) {
		if e.Harm == "" {
			harmless++
		}
	}

	if harmless < 40 || len(all) < 13+harmless {
		t.Errorf("%d checks, %d cases without harm; want 13 and 40 or more", len(all), harmless)
	}

	for _, r := range all {
		if !r.OK {
			t.Errorf("%s does not hold: %s", r.ID, r.Reason)
		}
	}
}
