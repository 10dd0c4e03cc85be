package harness

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// RecordedGroups reads the group paths of the instance below dir, whose agent is dead.
func RecordedGroups(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "run/*/groups"))
	var out []string
	for _, f := range files {
		text, rerr := os.ReadFile(f)
		out, err = append(out, strings.Fields(string(text))...), errors.Join(err, rerr)
	}
	return out, err
}

// ExistingGroups returns the recorded groups that still exist and are not a living agent's own.
func ExistingGroups(groups []string) []string {
	return slices.DeleteFunc(slices.Clone(groups), func(g string) bool {
		_, err := os.Lstat(g)
		return err != nil || filepath.Base(g) == "brig-agent"
	})
}

// Groups lists the agent's groups on the host, in every hierarchy.
func (a *Agent) Groups(t testing.TB) []string {
	t.Helper()
	lists, err := filepath.Glob(filepath.Join(a.Dir, "run", "*", "groups"))
	if err != nil || len(lists) != 1 {
		t.Fatalf("instances %q, %v", lists, err)
	}
	text, err := os.ReadFile(lists[0])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// ReadGroupFiles reads the files that match a pattern below the agent's groups.
func (a *Agent) ReadGroupFiles(t testing.TB, pattern string) (texts []string) {
	t.Helper()

	for _, top := range a.Groups(t) {
		files, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}

	return texts
}

// A cellProcess is a process of brig's in a cell.
type cellProcess struct {
	Pid    int
	Status string // of /proc
}

// CellProcesses lists those in the cells whose group names match, in the order in which they are listed.
func (a *Agent) CellProcesses(t testing.TB, cells string) (all []cellProcess) {
	t.Helper()
	for _, list := range a.ReadGroupFiles(t, cells+"/init/cgroup.procs") {
		for _, word := range strings.Fields(list) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			if status, err := os.ReadFile(filepath.Join("/proc", word, "status")); err == nil { // otherwise it has just ended
				all = append(all, cellProcess{pid, string(status)})
			}
		}
	}

	return all
}

// UnifiedHost reports whether this host has cgroup v2 alone.
func UnifiedHost(t testing.TB) bool {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs("/sys/fs/cgroup", &st); err != nil {
		t.Fatal(err)
	}
	return st.Type == unix.CGROUP2_SUPER_MAGIC
}
