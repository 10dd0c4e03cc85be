package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// A MemGroup is a group of the memory controller's hierarchy.
type MemGroup struct {
	Mount, Path string
	Unified     bool
}

// Dir is the directory of the group.
func (g MemGroup) Dir() string { return filepath.Join(g.Mount, g.Path) }

// Home is the group of the same hierarchy that /proc/self/cgroup named before.
func (g MemGroup) Home(table string) MemGroup {
	g.Path = ownGroup(table, g.Unified)
	return g
}

func ownGroup(table string, unified bool) string {
	for line := range strings.Lines(table) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && (unified && f[0] == "0" || !unified && slices.Contains(strings.Split(f[1], ","), "memory")) {
			return f[2]
		}
	}
	return "/"
}

// MemoryHierarchy finds the hierarchy of the memory controller.
func MemoryHierarchy(t *testing.T) MemGroup {
	t.Helper()
	g := MemGroup{Mount: "/sys/fs/cgroup", Unified: true}
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		if slices.Contains(strings.Split(m.VFSOptions, ","), "memory") {
			g.Mount, g.Unified = m.Mountpoint, false
		}
	}
	return g
}

// MemoryGroup creates a group with a limit below this process's own group.
func MemoryGroup(t *testing.T, size int64) MemGroup {
	t.Helper()
	g, limit := MemoryHierarchy(t), "memory.max"
	if !g.Unified {
		limit = "memory.limit_in_bytes"
	}

	table, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}

	own := g.Home(string(table))
	if g.Unified && own.Path != "/" {
		own.Path = filepath.Dir(own.Path) // a group with processes passes no controller on
	}

	if g.Unified { // on a machine that has just started no agent has passed them on
		if err := os.WriteFile(filepath.Join(own.Dir(), "cgroup.subtree_control"), []byte("+cpu +memory +pids"), 0); err != nil {
			t.Fatal(err)
		}
	}

	g.Path = filepath.Join(own.Path, fmt.Sprintf("above-%d", os.Getpid()))
	if err := os.Mkdir(g.Dir(), 0o755); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := unix.Rmdir(g.Dir()); err != nil {
			t.Errorf("remove %s: %v", g.Dir(), err)
		}
	})

	write := func(file, value string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(g.Dir(), file), []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}

	if !g.Unified {
		write("memory.swappiness", "0")
	}

	write(limit, fmt.Sprint(size))
	return g
}

// Join moves a process into a group.
func Join(t *testing.T, g MemGroup, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.Dir(), "cgroup.procs"), fmt.Append(nil, pid), 0); err != nil {
		t.Fatal(err)
	}
}
