package e2e

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// Two services with agents of their own do not promise the host's memory twice.
func TestSecondAgentIsRefusedOrDivided(t *testing.T) {
	testenv.NeedRoot(t)
	if c, err := net.Dial("unix", "/run/brig/brigd.sock"); err == nil {
		c.Close()
		t.Skip("a brigd answers where brig serve looks for one")
	}
	dir := placeOf(t, "brig-e2e-")
	flags := func(name string, more ...string) []string {
		return append([]string{"--data-dir", filepath.Join(dir, name), "--agent-arg=--run-dir=" + filepath.Join(dir, "run"), "--agent-arg=--data-dir=" + dataDir(t),
			"--agent-arg=--volumes=" + filepath.Join(dir, "volumes")}, more...)
	}
	first := launchServe(t, flags("first")...)
	defer first.stop()
	var had struct {
		Agent struct {
			Max int64 `json:"memory_ceiling_bytes"`
		}
	}
	first.call("GET", "/health", nil, 200, &had)

	cmd := exec.Command(binary(t, "brig"), append([]string{"serve", "--listen", "127.0.0.1:0", "--images", ""}, flags("second")...)...)
	cmd.Env = append(cmd.Environ(), "SANDBOX_PORT=", "BRIG_SOCKET=")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--agent-arg=--memory=SIZE") || strings.Contains(string(out), "brig serves") {
		t.Errorf("a second service: %v\n%s", err, out)
	}

	second := launchServe(t, flags("second", "--agent-arg=--memory=256M")...)
	var has = had
	second.call("GET", "/health", nil, 200, &has)
	if has.Agent.Max != 256<<20 || had.Agent.Max <= has.Agent.Max {
		t.Errorf("the first promises %d, the second %d; want it 256 MiB", had.Agent.Max, has.Agent.Max)
	}
	second.stop()
	first.stop()
	launchServe(t, flags("first")...).stop() // what was promised is so no more
}
