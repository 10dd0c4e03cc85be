package cgroups

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// open opens the statistics of one hierarchy. unified says that the controllers are
// on cgroup2, too.
func (s *stats) open(dir *os.File, hy Hierarchy, unified bool) error {
	if hy.Unified {
		return s.openV2(dir, unified)
	}
	for _, c := range hy.Controllers {
		var err error
		switch c {
		case "memory":
			err = s.openMemoryV1(dir)
		case "cpuacct":
			s.sources.CPU = "cpuacct.usage"
			s.cpu, err = openIn(dir, "cpuacct.usage", unix.O_RDONLY)
		case "pids":
			err = s.openPids(dir)
			if err == nil {
				s.procs, err = openIn(dir, "cgroup.procs", unix.O_RDONLY)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *stats) openV2(dir *os.File, controllers bool) (err error) {
	if s.populated, err = openIn(dir, "cgroup.events", unix.O_RDONLY); err != nil {
		return err
	}
	// cpu.stat has the three times in every group, with or without the controller.
	if s.split, err = openIn(dir, "cpu.stat", unix.O_RDONLY); err != nil {
		return err
	}
	s.sources.Split = "cpu.stat"
	if !controllers {
		return nil
	}
	s.cpu, s.sources.CPU = s.split, "cpu.stat"
	if err := s.openMemoryV2(dir); err != nil {
		return err
	}
	return s.openPids(dir)
}

// missing turns the absence of a file into an error that names the kernel version that
// has it.
func missing(err error, file, since string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &UnsupportedError{Feature: file, Since: since}
	}
	return err
}

// files returns the files to close. A file that serves two purposes is listed once.
func (s *stats) files() []*os.File {
	out := []*os.File{s.split, s.current, s.peak, s.events, s.hits,
		s.pids, s.pidsEvents, s.pidsPeak, s.populated, s.procs}
	if s.cpu != s.split {
		out = append(out, s.cpu)
	}
	return out
}
