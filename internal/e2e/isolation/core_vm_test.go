//go:build vm

package isolation

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// PRC-09: where core_pattern is a pipe, the kernel starts no helper for a crash of a run. The
// helper would be root of the host and get what the program left. The pattern belongs to the whole
// machine, so this test needs its own: .ci/test-v2.
func TestCrashesStartNoHelper(t *testing.T) {
	const setting = "/proc/sys/kernel/core_pattern"
	before, err := os.ReadFile(setting)
	if err != nil {
		t.Fatal(err)
	}

	dir := harness.PublicDir(t, "core-")
	helper, seen := filepath.Join(dir, "h"), filepath.Join(dir, "seen")
	if err := os.WriteFile(helper, []byte("#!/bin/sh\necho crash >>"+seen+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}

	a := harness.StartAgent(t, "--slots", "1")
	if err := os.WriteFile(setting, []byte("|"+helper), 0o644); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := os.WriteFile(setting, before, 0o644); err != nil {
			t.Errorf("take the pattern back: %v", err)
		}
	})

	crashes := func() int {
		text, err := os.ReadFile(seen)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count(string(text), "crash")
	}

	probe := harness.BuildProbe(t, "PRC-09")
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		r := harness.Program(probe, "5")
		r.Mode, r.Limits = mode, harness.HostileLimits()
		res := a.MustRun(t, r)
		if harness.WantVerdict(t, res, api.OK); !strings.Contains(string(res.Stdout), "aborted 5, cores 0") {
			t.Errorf("stdout %q", res.Stdout)
		}
	})

	for _, script := range []string{"ulimit -c 0; kill -ABRT $$", "ulimit -S -c 0; kill -ABRT $$"} {
		res := a.MustRun(t, harness.Sh(script))
		if harness.WantVerdict(t, res, api.Signaled); !strings.Contains(string(res.Stderr), "Operation not permitted") {
			t.Errorf("%s: stderr %q; want a refusal", script, res.Stderr)
		}
	}

	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "ulimit -c 0; kill -ABRT $$") // the control
	if err := cmd.Run(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != unix.SIGABRT {
		t.Fatalf("outside: %v", err)
	}

	for deadline := harness.Patience(); crashes() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("outside, a limit of 0 starts no helper: the test proves nothing")
		}
	}

	if n := crashes(); n != 1 {
		t.Errorf("the helper was started %d times; want once, for the crash outside", n)
	}
}
