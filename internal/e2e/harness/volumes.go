package harness

import (
	"testing"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// A VolumeAgent is an agent that creates volumes; at the end of the test no loop device may be
// left.
func VolumeAgent(t testing.TB, flags ...string) *Agent {
	t.Helper()
	testenv.NeedRoot(t)
	testenv.NeedTool(t, "mkfs.ext4", "e2fsprogs")
	testenv.NeedFile(t, "/dev/loop-control", "modprobe loop")
	return StartAgent(t, flags...)
}
