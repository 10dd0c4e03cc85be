package neighbours

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A load is the processor time since the host started: of all processes, and of those of a test:
// the groups of its agent, the agent and the test itself.
type load struct{ all, ours time.Duration }

// loadOf reads the current load.
func loadOf(t testing.TB, a *harness.Agent) load {
	t.Helper()
	var l load
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}

	first, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(first)[1:9] { // user nice system idle iowait irq softirq steal
		if n, err := strconv.ParseInt(field, 10, 64); err == nil && i != 3 && i != 4 {
			l.all += time.Duration(n) * 10 * time.Millisecond // USER_HZ is 100
		}
	}

	l.ours = groupTime(t, a) + a.AgentTime(t)
	var self unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &self); err != nil {
		t.Fatal(err)
	}

	l.ours += time.Duration(self.Utime.Nano() + self.Stime.Nano())
	return l
}

// groupTime is the processor time of all processes that ever ran in the agent's groups.
func groupTime(t testing.TB, a *harness.Agent) time.Duration {
	t.Helper()

	for _, path := range a.Groups(t) {
		stat, err := os.ReadFile(filepath.Join(path, "cpu.stat"))
		if err != nil {
			continue
		}

		for line := range strings.Lines(string(stat)) {
			if rest, is := strings.CutPrefix(line, "usage_usec "); is {
				n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				return time.Duration(n) * time.Microsecond
			}
		}
	}

	t.Fatal("no group of the agent has usage_usec in cpu.stat")
	return 0
}

// othersUse is how many processors other processes used between two loads that are span apart.
func othersUse(from, to load, span time.Duration) float64 {
	return float64(to.all-from.all-(to.ours-from.ours)) / float64(span)
}
