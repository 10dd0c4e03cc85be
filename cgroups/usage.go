package cgroups

import (
	"fmt"
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

// Begin marks the start of the next run: it records the counters, which never decrease,
// and resets the memory peak. On a kernel that cannot reset the peak, a leaf allows one
// Begin only (memory.peak resets by descriptor since Linux 6.12).
func (l *Leaf) Begin() error {
	if !l.peakReset && l.begun > 0 {
		return &UnsupportedError{Feature: "reset of memory.peak", Since: "Linux 6.12; make a new leaf for every run"}
	}
	l.begun++
	if err := l.awake(l.start, l.resting...); err != nil {
		l.unreliable = true
		return fmt.Errorf("begin in %s: %w", l.name, err)
	}
	return nil
}

func (l *Leaf) start() error {
	if err := l.drainOOM(); err != nil {
		return err
	}
	if l.peakReset {
		if err := put(l.peak, "0"); err != nil {
			return err
		}
	}

	now, err := l.read()
	if err != nil {
		return err
	}

	l.begin = now
	return nil
}

// Usage returns what was used since Begin. Call it when the group is empty: while a
// process runs, its last time slice is not counted yet.
func (l *Leaf) Usage() (u Usage, err error) {
	err = l.awake(func() error { u, err = l.usageNow(); return err }, l.resting...)
	return u, err
}

func (l *Leaf) usageNow() (Usage, error) {
	u := Usage{Sources: l.sources}
	now, err := l.read()
	for _, c := range controllers {
		if err == nil {
			err = c.usage(l, now, &u)
		}
	}
	if err != nil {
		l.unreliable = true
		return Usage{}, fmt.Errorf("read usage of %s: %w", l.name, err)
	}
	return u, nil
}

// read reads every counter once.
func (l *Leaf) read() (counters, error) {
	var now counters
	for _, c := range controllers {
		if err := c.read(&l.stats, &now); err != nil {
			return now, err
		}
	}
	return now, nil
}

// A Sample is what a run uses at one instant.
type Sample struct {
	Memory    int64         // bytes above MemoryBase
	CPU       time.Duration // since Begin
	Processes int64         // and threads
}

// Sample reads three files. It may run while the group has processes.
func (l *Leaf) Sample() (s Sample, err error) {
	if s.Memory, err = l.Current(); err != nil {
		return Sample{}, err
	}
	s.Memory = max(0, s.Memory-l.MemoryBase())
	if s.CPU, err = l.CPUTime(); err != nil {
		return Sample{}, err
	}
	s.Processes, err = l.Processes()
	return s, err
}
