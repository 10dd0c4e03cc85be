package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// needForeignEntry skips a test where the kernel refuses the 32-bit entry (int 0x80) to every program,
// as with ia32_emulation=0: there is nothing for a filter to deny, and the probe ends by SIGSEGV outside
// the sandbox, too.
func needForeignEntry(t *testing.T) {
	t.Helper()
	probe := buildProbe(t, "SEC-07")
	path := filepath.Join(t.TempDir(), probe.Name) // the name selects it
	if err := os.WriteFile(path, probe.Content, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	if err := exec.CommandContext(ctx, path).Run(); err != nil && strings.Contains(err.Error(), "segmentation fault") {
		t.Skip("this kernel has no 32-bit entry")
	}
}
