package cgroups

import (
	"os"
	"path/filepath"
	"testing"
)

// The root group is asked through the groups below it: the first that has the file is enough.
func TestRootGroupFeatures(t *testing.T) {
	root := t.TempDir()
	hy := &Hierarchy{Own: root, Root: true}
	if got := hy.has("", "cgroup.kill"); got != Unknown {
		t.Errorf("without groups: %v; want Unknown", got)
	}

	write := func(path string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("plain")
	write("a/other")
	if got := hy.has("", "cgroup.kill"); got != Unknown {
		t.Errorf("no group has it: %v; want Unknown", got)
	}

	write("b/cgroup.kill")
	if got := hy.has("", "cgroup.kill"); got != Yes {
		t.Errorf("one group has it: %v; want Yes", got)
	}
	if got := hy.has("", "cgroup.pressure"); got != Unknown {
		t.Errorf("another file: %v; want Unknown", got)
	}

	hy.Root = false
	if got := hy.has("", "cgroup.kill"); got != No {
		t.Errorf("not the root: %v; want No", got)
	}
}
