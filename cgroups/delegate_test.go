package cgroups

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ownGroup makes a group as a service manager would delegate it, moves the test
// process there, and moves it back at the end.
func ownGroup(t *testing.T) *Host {
	t.Helper()
	need(t, os.Geteuid() == 0, "root")
	h, err := Probe()
	if err != nil {
		need(t, false, err.Error())
	}
	if h.Mode != V2 {
		t.Skip("needs cgroup v2") // cannot be met on a hybrid host, so no failure even with BRIG_TEST_MUST
	}
	if err := h.Check(); err != nil {
		need(t, false, err.Error())
	}

	root := h.Hierarchies[0]
	need(t, root.Root, "the root group")
	err = putPath(filepath.Join(root.Own, "cgroup.subtree_control"), "+"+strings.Join(h.needed(), " +"))
	if err != nil {
		t.Fatal(err)
	}

	unit := filepath.Join(root.Own, "brig-test-unit")
	if err := os.Mkdir(unit, 0o755); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := putPath(filepath.Join(root.Own, "cgroup.procs"), "0"); err != nil {
			t.Error(err)
		}
		if err := sweep(unit); err != nil {
			t.Error(err)
		}
	})

	if err := putPath(filepath.Join(unit, "cgroup.procs"), "0"); err != nil {
		t.Fatal(err)
	}
	if h, err = Probe(); err != nil {
		t.Fatal(err)
	}
	if got := h.Hierarchies[0].Own; got != unit || h.Hierarchies[0].Root {
		t.Fatalf("own group is %s; want %s, not the root", got, unit)
	}
	return h
}

func TestAgentMakesRoomInADelegatedGroup(t *testing.T) {
	h := ownGroup(t)
	unit := h.Hierarchies[0].Own
	tree, err := Create(h, "one", func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Probe(); err != nil || again.Hierarchies[0].Own != filepath.Join(unit, agentLeaf) {
		t.Errorf("the agent is in %+v, %v", again, err)
	} else if second, err := Create(again, "two", func(string) error { return nil }); err != nil {
		t.Errorf("a second tree of the same process: %v", err)
	} else if err := second.Remove(); err != nil {
		t.Error(err)
	}
	if err := Sweep([]string{filepath.Join(unit, agentLeaf)}); err != nil || !exists(filepath.Join(unit, agentLeaf)) {
		t.Errorf("Sweep of a leaf with an agent in it = %v; it must stay", err)
	}

	cell, err := tree.Cell("c0", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cell.NewLeaf("r0"); err != nil {
		t.Fatal(err)
	}
	if err := tree.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(unit + "/brig-*"); left != nil {
		t.Errorf("left behind: %v", left)
	}
	if after, err := Probe(); err != nil || after.Hierarchies[0].Own != unit {
		t.Errorf("the agent ended in %+v, %v; want %s", after, err, unit)
	}
}

func TestOccupiedGroupIsRefusedWithARemedy(t *testing.T) {
	h := ownGroup(t)
	unit := h.Hierarchies[0].Own
	dir, err := openDir(unit)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()

	other := exec.Command("sleep", "100")
	other.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()

	_, err = Create(h, "one", func(string) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "Delegate=yes") {
		t.Errorf("Create = %v; want the cure", err)
	}
	if err := unix.Kill(other.Process.Pid, 0); err != nil {
		t.Errorf("the other process: %v", err)
	}
	if left, _ := filepath.Glob(unit + "/brig-*"); left != nil {
		t.Errorf("left behind: %v", left)
	}
}
