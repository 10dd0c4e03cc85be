package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Every check of brig selftest is a real run here, and every one holds.
func TestSelftestHolds(t *testing.T) {
	a := startAgent(t)
	cmd := exec.Command(binary(t, "brig"), "selftest", "--json", "--socket", filepath.Join(a.dir, "s"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("brig selftest: %v\n%s", err, out)
	}
	var all []struct {
		ID string `json:"id"`
		OK bool   `json:"ok"`
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("brig selftest --json: %v\n%s", err, out)
	}
	if len(all) < 13 {
		t.Errorf("%d checks; want 13 or more", len(all))
	}
	for _, r := range all {
		if !r.OK {
			t.Errorf("%s does not hold", r.ID)
		}
	}
}
