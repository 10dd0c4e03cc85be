package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// AGT-16: on a host that gives brigd too little it does not start, says what is missing, and leaves
// nothing. The control is every other test: there it starts.
func TestWeakHostIsRefusedWithTheReason(t *testing.T) {
	testenv.NeedRoot(t)
	setpriv := testenv.NeedTool(t, "setpriv", "util-linux")
	prlimit := testenv.NeedTool(t, "prlimit", "util-linux")
	without := func(capability string) []string {
		return []string{setpriv, "--bounding-set", "-" + capability, "--inh-caps", "-" + capability}
	}
	for _, tt := range []struct {
		name  string
		under []string
		flags []string
		says  string
	}{
		{"without CAP_SYS_ADMIN", without("sys_admin"), nil, "CAP_SYS_ADMIN"},
		{"without CAP_IPC_LOCK", append(without("ipc_lock"), prlimit, "--memlock=65536:65536"), nil, "CAP_IPC_LOCK"},
		{"without CAP_MKNOD", without("mknod"), nil, "CAP_MKNOD"},
		{"with few open files and no right to more", append(without("sys_resource"), prlimit, "--nofile=40:40"), nil, "LimitNOFILE="},
		{"with a /proc that is covered in part", []string{"unshare", "--mount", "--propagation", "private", "sh", "-c",
			`awk '/ - proc /{print $5}' /proc/self/mountinfo | while read -r m; do mount --bind /dev/null "$m/version"; done; exec "$@"`, "sh"}, nil,
			"/proc/version is covered by a mount"},
		{"with more slots than ids", nil, []string{"--slots", "5000"}, "5000 slots"},
		{"with a run directory others cannot pass", nil, []string{"--run-dir", "closed/run"}, "cannot pass through"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := harness.PublicDir(t, "brig-e2e-")
			if err := os.Mkdir(filepath.Join(dir, "closed"), 0o700); err != nil {
				t.Fatal(err)
			}

			testenv.CleanHost(t)
			ctx, cancel := context.WithDeadline(t.Context(), harness.Patience())
			defer cancel()

			args := append(tt.under, harness.Binary(t, "brigd"), "--socket", filepath.Join(dir, "s"), "--data-dir", harness.DataDir(t), "--run-dir",
				filepath.Join(dir, "run"))
			cmd := exec.CommandContext(ctx, args[0], append(args[1:], tt.flags...)...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), tt.says) {
				t.Errorf("brigd: %v; want exit code 1 and %q\n%s", err, tt.says, out)
			}
			if _, err := os.Lstat(filepath.Join(dir, "s")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a socket is there: %v", err)
			}

			for _, run := range []string{"run", "closed/run"} {
				if left, _ := os.ReadDir(filepath.Join(dir, run)); len(left) != 0 {
					t.Errorf("left in the run directory: %v", left)
				}
			}
		})
	}
}
