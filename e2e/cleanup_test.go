package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What a killed agent leaves is removed by name, a living agent's place is not.
func TestCleanupTellsTheDeadFromTheLiving(t *testing.T) {
	living := startAgent(t)
	living.run(t, sh("true"))
	run := filepath.Join(living.dir, "run")
	other := filepath.Join(living.dir, "other")
	if err := os.Mkdir(other, 0o711); err != nil {
		t.Fatal(err)
	}
	dead := launch(t, other, dataDir(t), "--run-dir", run)
	entries, err := os.ReadDir(run)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Fatalf("%d instances; want 2: %v", len(entries), entries)
	}
	dead.kill()

	var got struct{ Instances []string }
	cleanup := func() {
		t.Helper()
		cmd := exec.Command(binary(t, "brig"), "cleanup", "--json", "--run-dir", run)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("brig cleanup: %v\n%s", err, out)
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("brig cleanup --json: %v\n%s", err, out)
		}
	}
	if cleanup(); len(got.Instances) != 1 {
		t.Errorf("removed %q; want one dead agent", got.Instances)
	}
	if cleanup(); len(got.Instances) != 0 {
		t.Errorf("removed %q the second time; want nothing", got.Instances)
	}
	living.run(t, sh("true"))
}
