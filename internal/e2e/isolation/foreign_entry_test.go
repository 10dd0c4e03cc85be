package isolation

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// hasForeignEntry reports whether the kernel lets a program outside any sandbox use the 32-bit entry (int
// 0x80). With ia32_emulation=0 it ends every program that tries with SIGSEGV.
func hasForeignEntry(t *testing.T) bool {
	t.Helper()
	probe := harness.BuildProbe(t, "SEC-07")
	path := filepath.Join(t.TempDir(), probe.Name) // the name selects the probe
	if err := os.WriteFile(path, probe.Content, 0o700); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()

	var exit *exec.ExitError
	if err := exec.CommandContext(ctx, path).Run(); errors.As(err, &exit) {
		ended, ok := exit.Sys().(syscall.WaitStatus)
		return !ok || !ended.Signaled() || ended.Signal() != syscall.SIGSEGV
	}
	return true
}
