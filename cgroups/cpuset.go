package cgroups

import (
	"os"
	"path/filepath"
	"strings"
)

// planCpuset sets the processors. On version 1 an empty cpuset is not allowed: it is the cell's.
func planCpuset(plan []Write, at Layout, old, new Limits) []Write {
	if at.Unified {
		return set(plan, "cpuset.cpus", old.Cpuset, new.Cpuset)
	}
	return set(plan, "cpuset.cpus", or(old.Cpuset, at.Cpus), or(new.Cpuset, at.Cpus))
}

// inheritCpuset gives a new version 1 cpuset its parent's processors and memory
// nodes: it starts with none, and then no task may join it (cpusets.rst, 1.3).
func inheritCpuset(dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if err != nil {
			return err
		}
		if err := putPath(filepath.Join(dir, file), strings.TrimSpace(string(b))); err != nil {
			return err
		}
	}
	return nil
}

// SetCpuset changes a leaf's processors and no other limit. It still works after the files that
// only a run needs are closed.
func (l *Leaf) SetCpuset(cpuset string) error {
	want := l.limits
	want.Cpuset = cpuset
	return l.Apply(want)
}
