package harness

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// WaitIdle waits until no slot is leased.
func (a *Agent) WaitIdle(t *testing.T) {
	t.Helper()
	for deadline := Patience(); ; time.Sleep(5 * time.Millisecond) {
		h, err := a.Health(t.Context())
		if err == nil && h.Leased == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a slot is still taken: %+v, %v", h, err)
		}
	}
}

// StableCounts returns what the agent holds once that is no more than before, or after a while: the
// keepers clean up after a run.
func (a *Agent) StableCounts(t *testing.T, before map[string]int) map[string]int {
	t.Helper()
	time.Sleep(Slow(time.Second))
	for deadline := Patience(); ; time.Sleep(50 * time.Millisecond) {
		now, grown := a.heldCounts(t), false
		for kind, n := range now {
			grown = grown || n > before[kind]
		}
		if before == nil || !grown || time.Now().After(deadline) {
			return now
		}
	}
}

// heldCounts counts what a leak in the agent would show up in.
func (a *Agent) heldCounts(t *testing.T) map[string]int {
	t.Helper()
	pid := a.Cmd.Process.Pid
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}

	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		t.Fatal(err)
	}

	n := map[string]int{"descriptor": len(fds), "mount": strings.Count(string(mounts), "\n")}
	groups, err := RecordedGroups(a.Dir)
	if err != nil || len(groups) == 0 {
		t.Fatalf("groups of the agent: %q, %v", groups, err)
	}

	for _, g := range groups {
		_ = filepath.WalkDir(g, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() { // some disappear during the walk
				n["group"]++
			}
			return nil
		})
	}

	spaces := map[string]bool{}
	for _, p := range append(Descendants(t, pid), pid) {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/ns/*", p))
		for _, l := range links {
			if to, err := os.Readlink(l); err == nil {
				spaces[to] = true
			}
		}
		n["process"]++
	}

	n["namespace"] = len(spaces)
	return n
}
