//go:build vm

package agent

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/seccomp"
)

// A bundle of every tier starts under plain crun with the tier's own filter. crun refuses hosts
// with cgroup v1 and v2 side by side, so this test needs a machine with v2 alone: .ci/test-v2.
func TestBundleRunsUnderCrun(t *testing.T) {
	a := harness.StartAgent(t)
	for _, tier := range seccomp.Tiers() {
		t.Run(tier, func(t *testing.T) {
			notes, out, code := bundleRun(t, "crun", a.Dir, []string{"--profile", tier}, "/bin/echo", "started")
			if code != 0 || out != "started\n" {
				t.Errorf("exit code %d, output %q; want 0 and started", code, out)
			}
			if strings.Contains(notes, "also allows") || !strings.Contains(notes, "crun run --bundle") {
				t.Errorf("brig bundle said %q", notes)
			}
		})
	}
}
