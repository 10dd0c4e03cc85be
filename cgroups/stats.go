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
	s.sources.OOMKills, s.sources.LimitHits = "memory.events.local oom_kill", "memory.events.local max"
	if s.events, err = openIn(dir, "memory.events.local", unix.O_RDONLY); err != nil {
		return missing(err, "memory.events.local", "Linux 5.2")
	}
	if s.current, err = openIn(dir, "memory.current", unix.O_RDONLY); err != nil {
		return err
	}
	s.sources.Memory, s.sources.MemoryPeak = "memory.current", "memory.peak"
	if s.peak, err = openIn(dir, "memory.peak", unix.O_RDWR); err != nil {
		return missing(err, "memory.peak", "Linux 5.19")
	}
	if s.peakReset, err = canReset(s.peak); err != nil {
		return err
	}
	return s.openPids(dir)
}

// canReset reports whether memory.peak can be reset. It tries it: the reset affects this
// descriptor only. Before Linux 6.12 root may also open the file for writing, but the
// write fails with EINVAL.
func canReset(peak *os.File) (bool, error) {
	err := put(peak, "0")
	if errors.Is(err, unix.EINVAL) {
		return false, nil
	}
	return err == nil, err
}

func (s *stats) openMemoryV1(dir *os.File) (err error) {
	s.sources.Memory, s.sources.MemoryPeak, s.peakReset = "memory.usage_in_bytes", "memory.max_usage_in_bytes", true
	s.sources.OOMKills, s.sources.LimitHits = "memory.oom_control oom_kill", "memory.failcnt"
	if s.peak, err = openIn(dir, "memory.max_usage_in_bytes", unix.O_RDWR); err != nil {
		return err
	}
	if s.current, err = openIn(dir, "memory.usage_in_bytes", unix.O_RDONLY); err != nil {
		return err
	}
	if s.events, err = openIn(dir, "memory.oom_control", unix.O_RDONLY); err != nil {
		return err
	}
	s.hits, err = openIn(dir, "memory.failcnt", unix.O_RDONLY)
	return err
}

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
