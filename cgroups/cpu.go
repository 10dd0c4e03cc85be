package cgroups

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	period        = 100_000 // microseconds
	defaultWeight = 1024    // the kernel's, on version 1's scale
)

// cpu limits and measures processor time. On version 1 cpuacct measures it.
type cpu struct{ base }

func (cpu) controls(unified bool) []string {
	if unified {
		return []string{"cpu.max"}
	}
	return []string{"cpu.cfs_quota_us"}
}

// plan sets the quota and the weight.
func (cpu) plan(at Layout, old, new Limits) (plan []Write) {
	if at.Unified {
		plan = set(plan, "cpu.max", quota(old.CPUs, "max")+" 100000", quota(new.CPUs, "max")+" 100000")
		return set(plan, "cpu.weight", decimal(toWeight(old.Weight)), decimal(toWeight(new.Weight)))
	}
	plan = set(plan, "cpu.cfs_quota_us", quota(old.CPUs, "-1"), quota(new.CPUs, "-1"))
	return set(plan, "cpu.shares", decimal(cmp.Or(old.Weight, defaultWeight)), decimal(cmp.Or(new.Weight, defaultWeight)))
}

// quota is the processor time per period. The kernel's minimum is one millisecond.
func quota(cpus float64, none string) string {
	if cpus <= 0 {
		return none
	}
	return decimal(max(1000, int64(math.Round(cpus*period))))
}

// toWeight converts version 1 shares to cpu.weight. The scale is linear, so two runs
// keep their ratio; 1024, the version 1 default, becomes 100, the version 2 default.
func toWeight(shares int64) int64 {
	return min(max((cmp.Or(shares, defaultWeight)*100+defaultWeight/2)/defaultWeight, 1), 10_000)
}

// cpuStats are the statistics files of processor time.
type cpuStats struct {
	cpu   *os.File // cpuacct.usage or cpu.stat
	split *os.File // cpu.stat on cgroup2; v2: the same file as cpu
}

func (cpu) open(s *stats, _ *os.File, unified bool) error {
	if unified {
		s.cpu, s.sources.CPU = s.split, "cpu.stat"
	}
	return nil
}

// openSplit opens cpu.stat of cgroup2, which has the three times in every group, with or without
// the controller.
func (s *stats) openSplit(dir *os.File) (err error) {
	s.sources.Split = "cpu.stat"
	s.split, err = s.openFile(dir, "cpu.stat", unix.O_RDONLY)
	return err
}

type cpuCounters struct{ cpu, user, system time.Duration }

func (cpu) read(s *stats, c *counters) (err error) {
	if s.split != nil {
		var buf [1024]byte
		b, err := pread(s.split, buf[:])
		if err != nil {
			return err
		}
		user, uerr := flatKey(b, "user_usec")
		system, serr := flatKey(b, "system_usec")
		total, terr := flatKey(b, "usage_usec")
		if err := errors.Join(uerr, serr, terr); err != nil {
			return fmt.Errorf("%s: %w", s.split.Name(), err)
		}
		c.user, c.system, c.cpu = usec(user), usec(system), usec(total)
	}

	if s.cpu != s.split {
		c.cpu, err = s.cpuTime()
	}
	return err
}

func (cpu) usage(l *Leaf, now counters, u *Usage) error {
	u.CPU, u.User, u.System = now.cpu-l.begin.cpu, now.user-l.begin.user, now.system-l.begin.system
	u.SplitKnown = l.split != nil
	return nil
}

// CPUTime is the processor time used since Begin, in one read.
func (l *Leaf) CPUTime() (time.Duration, error) {
	t, err := l.cpuTime()
	return t - l.begin.cpu, err
}

func (s *stats) cpuTime() (time.Duration, error) {
	if s.cpu == s.split { // cpu.stat
		n, err := readKey(s.cpu, "usage_usec")
		return time.Duration(n) * time.Microsecond, err
	}
	n, err := readInt(s.cpu)
	return time.Duration(n), err
}

func usec(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/1000)) * time.Microsecond
}

// cpuacct counts processor time on version 1. Version 2 has no such controller.
type cpuacct struct{ base }

func (cpuacct) needed(m Mode) bool { return m != V2 }

func (cpuacct) open(s *stats, dir *os.File, unified bool) (err error) {
	if !unified {
		s.sources.CPU = "cpuacct.usage"
		s.cpu, err = s.openFile(dir, "cpuacct.usage", unix.O_RDONLY)
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
		want.Weight = max(cmp.Or(l.cell.weight, defaultWeight), defaultWeight)
	}
	return l.Apply(want)
}

// openWeight records the path of the weight file. This is the file of the cell, not of
// the leaf: the kernel compares the weights of siblings only. A run competes with other
// cells; the other groups of its own cell are idle.
func (l *Leaf) openWeight(hy Hierarchy) error {
	name := "cpu.shares"
	switch {
	case hy.Unified && l.cell.tree.layout.Unified:
		name = "cpu.weight"
	case hy.Unified || !slices.Contains(hy.Controllers, "cpu"):
		return nil
	}

	dir, err := openDir(l.cell.dir(hy))
	if err != nil {
		return err
	}
	defer dir.Close()

	return l.control(dir, name)
}

// SetWeight changes the weight of the branch's cell and no other limit.
func (b *Branch) SetWeight(weight int64) error {
	want := b.limits
	want.Weight = weight
	return b.Apply(want)
}
