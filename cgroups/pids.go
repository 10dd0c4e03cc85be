package cgroups

import (
	"os"

	"golang.org/x/sys/unix"
)

// pids limits the number of processes and threads.
type pids struct{ base }

func (pids) probe(hy Hierarchy, sub string, f *Features) {
	f.PidsPeak, f.PidsEvents = hy.has(sub, "pids.peak"), hy.has(sub, "pids.events")
}

func (pids) controls(bool) []string { return []string{"pids.max"} }

func (pids) plan(_ Layout, old, new Limits) []Write {
	return set(nil, "pids.max", limit(old.Pids, "max"), limit(new.Pids, "max"))
}

// pidsStats are the statistics files of processes.
type pidsStats struct {
	pids       *os.File
	pidsEvents *os.File
	pidsPeak   *os.File // nil before Linux 6.1
	procs      *os.File // version 1, of the pids hierarchy
}

func (pids) open(s *stats, dir *os.File, unified bool) (err error) {
	if s.pids, err = s.openFile(dir, "pids.current", unix.O_RDONLY); err != nil {
		return err
	}

	s.sources.PidsHits = "pids.events.local max"
	if s.pidsEvents, err = s.openMaybe(dir, "pids.events.local", unix.O_RDONLY); err != nil {
		return err
	}
	if s.pidsEvents == nil {
		s.sources.PidsHits = "pids.events max"
		if s.pidsEvents, err = s.openFile(dir, "pids.events", unix.O_RDONLY); err != nil {
			return missing(err, "pids.events", "Linux 4.8")
		}
	}
	if s.pidsPeak, err = s.openMaybe(dir, "pids.peak", unix.O_RDONLY); s.pidsPeak != nil {
		s.sources.PidsPeak = "pids.peak"
	}
	if err == nil && !unified {
		s.procs, err = s.openFile(dir, "cgroup.procs", unix.O_RDONLY)
	}
	return err
}

// pidsCounters are the refused forks.
type pidsCounters struct{ forks int64 }

func (pids) read(s *stats, c *counters) (err error) {
	c.forks, err = readKey(s.pidsEvents, "max")
	return err
}

func (pids) usage(l *Leaf, now counters, u *Usage) (err error) {
	u.PidsHits = now.forks - l.begin.forks
	if l.pidsPeak != nil && l.begun == 1 {
		u.PidsPeakKnown = true
		u.PidsPeak, err = readInt(l.pidsPeak)
	}
	return err
}

// Processes counts the processes and threads in the group now.
func (l *Leaf) Processes() (int64, error) { return readInt(l.pids) }
