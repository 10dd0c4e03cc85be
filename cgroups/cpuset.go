package cgroups

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// cpuset chooses the processors. Only limits that name some require it.
type cpuset struct{ base }

func (cpuset) needed(Mode) bool { return false }

func (cpuset) controls(bool) []string { return []string{"cpuset.cpus"} }

// plan sets the processors. On version 1 an empty cpuset is not allowed: it is the cell's.
func (cpuset) plan(at Layout, old, new Limits) []Write {
	if at.Unified {
		return set(nil, "cpuset.cpus", old.Cpuset, new.Cpuset)
	}
	return set(nil, "cpuset.cpus", cmp.Or(old.Cpuset, at.Cpus), cmp.Or(new.Cpuset, at.Cpus))
}

// clearCpuset writes the empty set, the processors of the parent, to the file at path. A write of
// no bytes does nothing.
func clearCpuset(f *os.File, path string) error {
	err := put(f, "\n")
	if errors.Is(err, unix.ENOSPC) { // the set may not become empty while the group has processes (kernel/cgroup/cpuset.c, validate_change)
		parent, perr := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(path)), "cpuset.cpus.effective"))
		if perr != nil {
			return errors.Join(err, perr)
		}
		err = put(f, string(bytes.TrimSpace(parent)))
	}
	return err
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
