package cgroups

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// memory limits memory and swap.
type memory struct{ base }

func (memory) probe(hy Hierarchy, sub string, f *Features) {
	if !hy.Unified {
		f.Peak, f.PeakReset = hy.has(sub, "memory.max_usage_in_bytes"), hy.has(sub, "memory.max_usage_in_bytes")
		f.Swap, f.OOMGroup, f.LocalEvents = hy.has(sub, "memory.memsw.limit_in_bytes"), No, No
		return
	}
	f.Peak, f.Swap = hy.has(sub, "memory.peak"), hy.has(sub, "memory.swap.max")
	f.OOMGroup, f.LocalEvents = hy.has(sub, "memory.oom.group"), hy.has(sub, "memory.events.local")
	f.PeakReset = f.Peak
	if f.Peak == Yes {
		f.PeakReset = resettable(filepath.Join(hy.Own, sub, "memory.peak"))
	}
}

func (memory) controls(unified bool) []string {
	if unified {
		return []string{"memory.max", "memory.swap.max", "memory.oom.group", "memory.reclaim"}
	}
	return []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.swappiness", "memory.force_empty",
		"memory.kmem.tcp.limit_in_bytes", "cgroup.event_control"}
}

// setup makes an OOM kill end the whole run, and no process swap.
func (memory) setup(at Layout) []Write {
	switch {
	case !at.Unified:
		return []Write{{"memory.swappiness", "0"}}
	case at.Swap:
		return []Write{{"memory.oom.group", "1"}, {"memory.swap.max", "0"}}
	}
	return []Write{{"memory.oom.group", "1"}}
}

// plan orders the limits of memory and swap.
func (memory) plan(at Layout, old, new Limits) (plan []Write) {
	if !at.Unified {
		return memoryV1(at, old, new)
	}
	if at.Swap {
		plan = set(plan, "memory.swap.max", decimal(old.SwapBytes), decimal(new.SwapBytes))
	}
	return set(plan, "memory.max", limit(old.MemoryBytes, "max"), limit(new.MemoryBytes, "max"))
}

// memoryV1 orders the two limits: the kernel always refuses a memory limit above the
// memory+swap limit, with EINVAL (memory.rst for version 1, "memsw").
func memoryV1(at Layout, old, new Limits) []Write {
	var plan, mem, memsw []Write
	if from, to := swappiness(old), swappiness(new); from != to {
		plan = append(plan, Write{"memory.swappiness", to})
	}

	// Version 1 charges buffers of sockets only to a group that had this limit set before they were
	// made (mm/memcontrol-v1.c, memcg_update_tcp_max), and apart from its memory.
	if old.SocketBytes != new.SocketBytes {
		plan = append(plan, Write{"memory.kmem.tcp.limit_in_bytes", limit(new.SocketBytes, "-1")})
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

// memoryStats are the statistics files of memory.
type memoryStats struct {
	current   *os.File
	peak      *os.File // writing resets, if peakReset
	peakReset bool
	events    *os.File // memory.events.local or memory.oom_control
	hits      *os.File // version 1 memory.failcnt
}

func (memory) open(s *stats, dir *os.File, unified bool) (err error) {
	if unified {
		return s.openMemoryV2(dir)
	}

	s.sources.Memory, s.sources.MemoryPeak, s.peakReset = "memory.usage_in_bytes", "memory.max_usage_in_bytes", true
	s.sources.OOMKills, s.sources.LimitHits = "memory.oom_control oom_kill", "memory.failcnt"
	if s.peak, err = s.openFile(dir, "memory.max_usage_in_bytes", unix.O_RDWR); err != nil {
		return err
	}
	if s.current, err = s.openFile(dir, "memory.usage_in_bytes", unix.O_RDONLY); err != nil {
		return err
	}
	if s.events, err = s.openFile(dir, "memory.oom_control", unix.O_RDONLY); err != nil {
		return err
	}

	s.hits, err = s.openFile(dir, "memory.failcnt", unix.O_RDONLY)
	return err
}

func (s *stats) openMemoryV2(dir *os.File) (err error) {
	s.sources.OOMKills, s.sources.LimitHits = "memory.events.local oom_kill", "memory.events.local max"
	if s.events, err = s.openFile(dir, "memory.events.local", unix.O_RDONLY); err != nil {
		return missing(err, "memory.events.local", "Linux 5.2")
	}
	if s.current, err = s.openFile(dir, "memory.current", unix.O_RDONLY); err != nil {
		return err
	}

	s.sources.Memory, s.sources.MemoryPeak = "memory.current", "memory.peak"
	if s.peak, err = s.openFile(dir, "memory.peak", unix.O_RDWR); err != nil {
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

// resettable tries to reset memory.peak. The reset affects only the descriptor that is
// written to.
func resettable(path string) State {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Unknown // no permission to write
	}
	defer f.Close()
	if ok, err := canReset(f); err != nil {
		return Unknown
	} else if ok {
		return Yes
	}
	return No
}

// memoryCounters are how many processes were killed, how often the limit was hit, and the largest
// charge in bytes.
type memoryCounters struct{ kills, hits, peakBytes int64 }

func (memory) read(s *stats, c *counters) error {
	if err := s.limitHits(c); err != nil {
		return err
	}
	var err error
	c.peakBytes, err = readInt(s.peak)
	return err
}

// limitHits reads how often the limit was hit, and how many processes were killed.
func (s *stats) limitHits(c *counters) error {
	var buf [1024]byte
	b, err := pread(s.events, buf[:])
	if err != nil {
		return err
	}
	if c.kills, err = flatKey(b, "oom_kill"); err != nil {
		return fmt.Errorf("%s: %w", s.events.Name(), err)
	}
	if s.hits != nil {
		c.hits, err = readInt(s.hits)
		return err
	}
	if c.hits, err = flatKey(b, "max"); err != nil {
		return fmt.Errorf("%s: %w", s.events.Name(), err)
	}
	return nil
}

// usage takes the peak at Begin, which had just been reset, for what was charged then.
func (memory) usage(l *Leaf, now counters, u *Usage) error {
	left, err := l.Current()
	// Memory charged at Begin and freed since was available to the run itself.
	u.MemoryBase = min(l.MemoryBase(), left)
	u.MemoryPeak = max(0, now.peakBytes-u.MemoryBase)
	u.OOMKills, u.LimitHits = now.kills-l.begin.kills, now.hits-l.begin.hits
	return err
}

// Current is the memory charged now, in bytes.
func (l *Leaf) Current() (n int64, err error) {
	if len(l.resting) == 0 {
		return readInt(l.current)
	}
	err = l.awake(func() error { n, err = readInt(l.current); return err }, &l.current)
	return n, err
}

// MemoryBase is the number of bytes that were charged to the leaf at the last Begin.
// Earlier runs left this memory. It counts against the limit of this run.
func (l *Leaf) MemoryBase() int64 { return l.begin.peakBytes }

// SetMemory changes the branch's memory limit and no other limit.
func (b *Branch) SetMemory(memory int64) error {
	want := b.limits
	if want.MemoryBytes != 0 { // 0 where this layer is left out on purpose
		want.MemoryBytes = memory
	}
	return b.Apply(want)
}
