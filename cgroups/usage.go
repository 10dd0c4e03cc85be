package cgroups

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
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

// CPUTime is the processor time used since Begin, in one read.
func (l *Leaf) CPUTime() (time.Duration, error) {
	t, err := l.cpuTime()
	return t - l.base.cpu, err
}

func (l *Leaf) cpuTime() (time.Duration, error) {
	if l.cpu == l.split { // cpu.stat
		n, err := readKey(l.cpu, "usage_usec")
		return time.Duration(n) * time.Microsecond, err
	}
	n, err := readInt(l.cpu)
	return time.Duration(n), err
}

// Current is the memory charged now, in bytes.
func (l *Leaf) Current() (int64, error) { return readInt(l.current) }

// Processes counts the processes and threads in the group now.
func (l *Leaf) Processes() (int64, error) { return readInt(l.pids) }

// read reads every counter once.
func (l *Leaf) read() (counters, error) {
	var c counters
	var buf [1024]byte
	if l.split != nil {
		b, err := pread(l.split, buf[:])
		if err != nil {
			return c, err
		}
		user, uerr := flatKey(b, "user_usec")
		system, serr := flatKey(b, "system_usec")
		total, terr := flatKey(b, "usage_usec")
		if err := errors.Join(uerr, serr, terr); err != nil {
			return c, fmt.Errorf("%s: %w", l.split.Name(), err)
		}
		c.user, c.system, c.cpu = usec(user), usec(system), usec(total)
	}
	var err error
	if l.cpu != l.split {
		if c.cpu, err = l.cpuTime(); err != nil {
			return c, err
		}
	}
	b, err := pread(l.events, buf[:])
	if err != nil {
		return c, err
	}
	if c.kills, err = flatKey(b, "oom_kill"); err != nil {
		return c, fmt.Errorf("%s: %w", l.events.Name(), err)
	}
	if l.hits == nil {
		if c.hits, err = flatKey(b, "max"); err != nil {
			return c, fmt.Errorf("%s: %w", l.events.Name(), err)
		}
	} else if c.hits, err = readInt(l.hits); err != nil {
		return c, err
	}
	c.forks, err = readKey(l.pidsEvents, "max")
	return c, err
}

func usec(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/1000)) * time.Microsecond
}

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

// drainOOM discards events of the previous run.
func (l *Leaf) drainOOM() error {
	if l.oomFD < 0 {
		return nil
	}
	var buf [8]byte
	_, err := unix.Read(l.oomFD, buf[:])
	if err == unix.EAGAIN || err == unix.EINTR { // no event; one left over wakes a poll once only
		return nil
	}
	return err
}

// Expedite lets the killed processes of the leaf exit at normal speed, whatever the limits:
// the exit of a process needs processor time, which is charged to the group. It lifts the
// cpu quota and raises a low weight to the default, except for a leaf of a branch, which
// shares the branch's weight with others. Call it after Kill: a process with a pending
// SIGKILL runs no more code of its own. The next Apply puts new limits in force.
func (l *Leaf) Expedite() error {
	want := l.limits
	want.CPUs = 0
	if l.kind != onBranch {
		want.Weight = max(or(l.cell.weight, defaultWeight), defaultWeight)
	}
	return l.Apply(want)
}
