package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
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

	data, dir := dataDir(t), publicDir(t, "brig-e2e-")
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

	a := launchAfter(t, dir, data, func(pid int) {
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			t.Error(err)
		}
	}, "--slots", "1")

	t.Cleanup(a.stop)
	both(t, func(t *testing.T, mode api.Mode) {
		r := sh("exit 0")
		r.Mode = mode
		wantVerdict(t, a.run(t, r), api.OK)
	})
}
