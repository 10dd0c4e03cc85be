package cgroups

import (
	"fmt"
	"os"
	"time"
)

// Usage is what a run used since Begin.
type Usage struct {
	CPU        time.Duration // user and system time of all processes together
	User       time.Duration // part of CPU; only where SplitKnown
	System     time.Duration
	SplitKnown bool

	MemoryPeak int64 // bytes above MemoryBase
	MemoryBase int64 // bytes charged to the leaf at Begin and since, which count against the limit

	// OOMKills counts processes of this group itself that the kernel killed for
	// memory, whichever group's limit was hit: version 1 and memory.events.local both
	// count at the victim's group (memcg_memory_event_mm; version 1 stops there). With
	// memory.oom.group the first victim is counted twice (seen on 6.1): only compare it
	// with zero.
	OOMKills int64
	// LimitHits counts charges that hit this group's own limit. Reclaim may then have
	// freed enough memory: it is evidence only together with OOMKills.
	LimitHits int64
	// PidsHits counts refused forks: those refused at this group's limit where
	// pids.events.local exists (Linux 6.11), else those of this group's processes at any
	// limit.
	PidsHits int64

	PidsPeak      int64 // largest number of processes and threads at once
	PidsPeakKnown bool  // pids.peak cannot be reset: known only for a leaf's first run

	Sources Sources
}

// Sources name the kernel file that each measurement was read from; empty where there
// was none.
type Sources struct {
	CPU, Split, Memory, MemoryPeak, OOMKills, LimitHits, PidsHits, PidsPeak string
}

// stats are the statistics files, open for reading.
type stats struct {
	cpu        *os.File // cpuacct.usage or cpu.stat
	split      *os.File // cpu.stat on cgroup2; v2: the same file as cpu
	current    *os.File
	peak       *os.File // writing resets, if peakReset
	peakReset  bool
	events     *os.File // memory.events.local or memory.oom_control
	hits       *os.File // version 1 memory.failcnt
	pids       *os.File
	pidsEvents *os.File
	pidsPeak   *os.File // nil before Linux 6.1
	populated  *os.File // cgroup.events; nil in mode v1
	procs      *os.File // version 1, of the pids hierarchy
	sources    Sources
}

// counters are cumulative readings.
type counters struct {
	cpu, user, system  time.Duration
	kills, hits, forks int64
	memoryBase         int64
}

// Begin marks the start of the next run: it records the counters, which never decrease,
// and resets the memory peak. On a kernel that cannot reset the peak, a leaf allows one
// Begin only (memory.peak resets by descriptor since Linux 6.12).
func (l *Leaf) Begin() error {
	if !l.peakReset && l.begun > 0 {
		return &UnsupportedError{Feature: "reset of memory.peak", Since: "Linux 6.12; make a new leaf for every run"}
	}
	l.begun++
	if err := l.begin(); err != nil {
		l.unreliable = true
		return fmt.Errorf("begin in %s: %w", l.name, err)
	}
	return nil
}

func (l *Leaf) begin() error {
	if err := l.drainOOM(); err != nil {
		return err
	}
	if l.peakReset {
		if err := put(l.peak, "0"); err != nil {
			return err
		}
	}
	c, err := l.read()
	if err != nil {
		return err
	}
	if c.memoryBase, err = readInt(l.peak); err != nil {
		return err
	}
	l.base = c
	return nil
}

// Usage returns what was used since Begin. Call it when the group is empty: while a
// process runs, its last time slice is not counted yet.
func (l *Leaf) Usage() (Usage, error) {
	c, err := l.read()
	if err != nil {
		l.unreliable = true
		return Usage{}, fmt.Errorf("read usage of %s: %w", l.name, err)
	}
	peak, err := readInt(l.peak)
	if err != nil {
		l.unreliable = true
		return Usage{}, fmt.Errorf("read usage of %s: %w", l.name, err)
	}
	left, err := readInt(l.current)
	if err != nil {
		l.unreliable = true
		return Usage{}, fmt.Errorf("read usage of %s: %w", l.name, err)
	}
	b := l.base
	// Memory charged at Begin and freed since was available to the run itself.
	b.memoryBase = min(b.memoryBase, left)
	u := Usage{
		CPU: c.cpu - b.cpu, User: c.user - b.user, System: c.system - b.system, SplitKnown: l.split != nil,
		MemoryPeak: max(0, peak-b.memoryBase), MemoryBase: b.memoryBase,
		OOMKills: c.kills - b.kills, LimitHits: c.hits - b.hits, PidsHits: c.forks - b.forks,
		Sources: l.sources,
	}
	if l.pidsPeak != nil && l.begun == 1 {
		if u.PidsPeak, err = readInt(l.pidsPeak); err != nil {
			return Usage{}, fmt.Errorf("read usage of %s: %w", l.name, err)
		}
		u.PidsPeakKnown = true
	}
	return u, nil
}

// read reads every counter once.
func (l *Leaf) read() (counters, error) {
	var c counters
	if err := l.readCPU(&c); err != nil {
		return c, err
	}
	if err := l.readMemoryEvents(&c); err != nil {
		return c, err
	}
	var err error
	c.forks, err = readKey(l.pidsEvents, "max")
	return c, err
}
