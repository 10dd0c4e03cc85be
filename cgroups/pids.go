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
