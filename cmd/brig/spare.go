package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/sysmon"
)

// halve has the service use half of the processors: the programs run on the same host
// and need the others. On all of them Go wakes a second thread for each piece of work
// that the first would have come to microseconds later. Who sets GOMAXPROCS is obeyed.
func (c *console) halve() {
	if c.env("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2))
	}
}

// keepWithin has the collector come in time for a bound of all memory: garbage would double
// what large requests and answers hold. What they hold is counted, and below it, so that the
// collector is never at work for nothing. Who sets GOMEMLIMIT is obeyed.
func (c *console) keepWithin(most api.Size) {
	if c.env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(most - 64*api.MiB)) // the rest is not the heap
	}
}

// The bounds of what the collector lets memory grow by, in percent, and what it should
// grow by between them.
const (
	leastGrowth = 50
	mostGrowth  = 200
	growth      = 8 << 20
	growthEvery = time.Second
)

// keepSmall has the collector look seldom while little memory is in use, and in time
// when a thousand connections are open, until ctx is done. Who sets GOGC or GOMEMLIMIT
// is obeyed.
func (c *console) keepSmall(ctx context.Context) {
	if c.env("GOGC") != "" || c.env("GOMEMLIMIT") != "" {
		return
	}
	tick := time.NewTicker(growthEvery)
	defer tick.Stop()
	now := 0
	for {
		if want := growthOf(inUse()); want != now {
			now = want
			debug.SetGCPercent(now)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// growthOf is the percentage for so many bytes in use, in steps of ten.
func growthOf(bytes uint64) int {
	return int(max(leastGrowth, min(mostGrowth, 100*growth/max(bytes, 1)/10*10)))
}

// inUse is what a collection finds in use, by the last one: what its percentage is of.
func inUse() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	sum := uint64(0)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}

// timerSlack is how much later than asked for the service's threads may be woken, where
// its monitor thread alone cannot be told. The programs' threads are not the service's: an
// agent that it started was started before.
const timerSlack = time.Millisecond

// slacken has Go's monitor thread wake less often: a fifth of a run's processor time. For
// a service that was not started as root it sets a smaller slack for all threads; those to
// come inherit it. Without either the service is only slower, as a build with cgo is, where
// Go cannot reach all threads.
func slacken() {
	if sysmon.Calm() != nil {
		_, _, _ = syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0)
	}
}
