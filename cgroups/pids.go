package cgroups

import (
	"os"

	"golang.org/x/sys/unix"
)

func (s *stats) openPids(dir *os.File) (err error) {
	if s.pids, err = openIn(dir, "pids.current", unix.O_RDONLY); err != nil {
		return err
	}
	s.sources.PidsHits = "pids.events.local max"
	if s.pidsEvents, err = openMaybe(dir, "pids.events.local", unix.O_RDONLY); err != nil {
		return err
	}
	if s.pidsEvents == nil {
		s.sources.PidsHits = "pids.events max"
		if s.pidsEvents, err = openIn(dir, "pids.events", unix.O_RDONLY); err != nil {
			return missing(err, "pids.events", "Linux 4.8")
		}
	}
	s.pidsPeak, err = openMaybe(dir, "pids.peak", unix.O_RDONLY)
	if s.pidsPeak != nil {
		s.sources.PidsPeak = "pids.peak"
	}
	return err
}

// Processes counts the processes and threads in the group now.
func (l *Leaf) Processes() (int64, error) { return readInt(l.pids) }

// Empty reports whether no process is left: the pids controller, which includes zombies,
// counts none, and cgroup2 reports none.
func (l *Leaf) Empty() (bool, error) {
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
func (l *Leaf) Kill() error {
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
