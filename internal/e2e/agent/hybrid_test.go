package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// On a hybrid host systemd gives each service its own group on cgroup2 too. There the agent creates
// cells as it does at the root, and leaves nothing behind.
func TestHybridAgentInAGroupOfItsOwn(t *testing.T) {
	testenv.NeedRoot(t)
	const unified = "/sys/fs/cgroup/unified"
	var st unix.Statfs_t
	if err := unix.Statfs(unified, &st); err != nil || st.Type != unix.CGROUP2_SUPER_MAGIC {
		t.Skip("this host is not hybrid") // there is no such group on v1 or v2
	}

	data, dir := harness.DataDir(t), harness.PublicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	group := filepath.Join(unified, fmt.Sprintf("e2e-unit-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})

	a := harness.LaunchAfter(t, dir, data, func(pid int) {
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			t.Error(err)
		}
	}, "--slots", "1")

	t.Cleanup(a.Stop)
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		r := harness.Sh("exit 0")
		r.Mode = mode
		harness.WantVerdict(t, a.MustRun(t, r), api.OK)
	})
}
