package cgroups

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// planMemory orders the limits of memory and swap.
func planMemory(plan []Write, at Layout, old, new Limits) []Write {
	if !at.Unified {
		return memoryV1(plan, at, old, new)
	}
	if at.Swap {
		plan = set(plan, "memory.swap.max", decimal(old.SwapBytes), decimal(new.SwapBytes))
	}
	return set(plan, "memory.max", limit(old.MemoryBytes, "max"), limit(new.MemoryBytes, "max"))
}

// memoryV1 orders the two limits: the kernel always refuses a memory limit above the
// memory+swap limit, with EINVAL (memory.rst for version 1, "memsw").
func memoryV1(plan []Write, at Layout, old, new Limits) []Write {
	var mem, memsw []Write
	if from, to := swappiness(old), swappiness(new); from != to {
		plan = append(plan, Write{"memory.swappiness", to})
	}
	if old.MemoryBytes != new.MemoryBytes {
		mem = []Write{{"memory.limit_in_bytes", limit(new.MemoryBytes, "-1")}}
	}
	if !at.Swap {
		return append(plan, mem...)
	}
	from, to := withSwap(old), withSwap(new)
	if from != to {
		memsw = []Write{{"memory.memsw.limit_in_bytes", limit(to, "-1")}}
	}
	if to == 0 || (from != 0 && to >= from) {
		return append(append(plan, memsw...), mem...)
	}
	return append(append(plan, mem...), memsw...)
}

// slack is how far the memory+swap limit exceeds the sum of the two: the largest single
// charge, a huge page. Without it the kernel hits the memory+swap limit first
// (try_charge_memcg charges that one first), and newer kernels count failures of the
// memory counter only (page_counter track_failcnt; memory.memsw.failcnt seen to stay
// 0 on 6.18): a run killed at its limit would leave no trace of it. The run cannot swap
// into the slack: memory.swappiness=0 keeps a group at its limit from swapping.
const slack = 2 << 20

// swappiness is the memory.swappiness that keeps a run without swap from swapping at its
// own limit on version 1.
func swappiness(l Limits) string {
	if l.SwapBytes == 0 {
		return "0"
	}
	return "60" // the kernel's default
}

// withSwap is the limit on memory and swap together; zero means no limit.
func withSwap(l Limits) int64 {
	switch {
	case l.MemoryBytes == 0:
		return 0
	case l.SwapBytes > math.MaxInt64-slack || l.MemoryBytes > math.MaxInt64-slack-l.SwapBytes:
		return math.MaxInt64
	}
	return l.MemoryBytes + l.SwapBytes + slack
}

func (s *stats) openMemoryV2(dir *os.File) (err error) {
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
	s.peakReset, err = canReset(s.peak)
	return err
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

// Current is the memory charged now, in bytes.
func (l *Leaf) Current() (int64, error) { return readInt(l.current) }

// readMemoryEvents reads how often the limit was hit and how many processes were killed.
func (l *Leaf) readMemoryEvents(c *counters) error {
	var buf [1024]byte
	b, err := pread(l.events, buf[:])
	if err != nil {
		return err
	}
	if c.kills, err = flatKey(b, "oom_kill"); err != nil {
		return fmt.Errorf("%s: %w", l.events.Name(), err)
	}
	if l.hits != nil {
		c.hits, err = readInt(l.hits)
		return err
	}
	if c.hits, err = flatKey(b, "max"); err != nil {
		return fmt.Errorf("%s: %w", l.events.Name(), err)
	}
	return nil
}

// SetMemory changes the branch's memory limit and no other limit.
func (b *Branch) SetMemory(memory int64) error {
	want := b.limits
	if want.MemoryBytes != 0 { // 0 where this layer is left out on purpose
		want.MemoryBytes = memory
	}
	return b.Apply(want)
}
