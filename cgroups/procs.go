package cgroups

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Pids lists the processes of the group and of the groups below it. The list may include
// processes that were created during the call.
func (l *Leaf) Pids() ([]int, error) {
	var pids []int
	root := filepath.Join(l.cell.dir(l.cell.tree.roots[0]), l.name)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a group below has just been removed
			return nil
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		}

		text, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}

		for line := range strings.Lines(string(text)) {
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				return err
			}
			pids = append(pids, pid)
		}

		return nil
	})

	return pids, err
}

// Empty reports whether no process is left: the pids controller, which includes zombies,
// counts none, and cgroup2 reports none.
func (l *Leaf) Empty() (empty bool, err error) {
	if len(l.resting) == 0 {
		return l.isEmpty()
	}
	err = l.awake(func() error { empty, err = l.isEmpty(); return err }, &l.pids, &l.populated)
	return empty, err
}

func (l *Leaf) isEmpty() (bool, error) {
	n, err := readInt(l.pids)
	if err != nil || n != 0 || l.populated == nil {
		return n == 0 && err == nil, err
	}
	p, err := readKey(l.populated, "populated")
	return p == 0 && err == nil, err
}

// Kill kills every process in the group, including those that are forking. It returns
// before they are gone: poll Empty.
//
// cgroup.kill exists since Linux 5.14 (cgroup-v2.rst, "Core Interface Files"). Mode v1
// does not have it: there Kill first forbids forks, so that killing one by one terminates.
func (l *Leaf) Kill() error { return l.awake(l.killNow, &l.kill, &l.procs) }

func (l *Leaf) killNow() error {
	if l.kill != nil {
		// The kernel kills a process that is cloned from another group into a killed
		// group: it compares the kill count with that of the parent's group
		// (cgroup_post_fork, Linux 6.18). So the group is not used again.
		l.unreliable = true
		return put(l.kill, "1")
	}
	if l.dir != nil {
		return &UnsupportedError{Feature: "cgroup.kill", Since: "Linux 5.14"}
	}
	if err := l.write(Write{"pids.max", "0"}); err != nil {
		return err
	}

	l.limits.Pids = -1 // equals no requested limit, so the next Apply writes pids.max
	return killAll(l.procs)
}
