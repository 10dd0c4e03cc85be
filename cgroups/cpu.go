package cgroups

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	period        = 100_000 // microseconds
	defaultWeight = 1024    // the kernel's, on version 1's scale
)

// planCPU sets the quota and the weight.
func planCPU(plan []Write, at Layout, old, new Limits) []Write {
	if at.Unified {
		plan = set(plan, "cpu.max", quota(old.CPUs, "max")+" 100000", quota(new.CPUs, "max")+" 100000")
		return set(plan, "cpu.weight", decimal(toWeight(old.Weight)), decimal(toWeight(new.Weight)))
	}
	plan = set(plan, "cpu.cfs_quota_us", quota(old.CPUs, "-1"), quota(new.CPUs, "-1"))
	return set(plan, "cpu.shares", decimal(or(old.Weight, defaultWeight)), decimal(or(new.Weight, defaultWeight)))
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
	return min(max((or(shares, defaultWeight)*100+defaultWeight/2)/defaultWeight, 1), 10_000)
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

func usec(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/1000)) * time.Microsecond
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

// readCPU reads the three times.
func (l *Leaf) readCPU(c *counters) (err error) {
	if l.split != nil {
		var buf [1024]byte
		b, err := pread(l.split, buf[:])
		if err != nil {
			return err
		}
		user, uerr := flatKey(b, "user_usec")
		system, serr := flatKey(b, "system_usec")
		total, terr := flatKey(b, "usage_usec")
		if err := errors.Join(uerr, serr, terr); err != nil {
			return fmt.Errorf("%s: %w", l.split.Name(), err)
		}
		c.user, c.system, c.cpu = usec(user), usec(system), usec(total)
	}
	if l.cpu != l.split {
		c.cpu, err = l.cpuTime()
	}
	return err
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
