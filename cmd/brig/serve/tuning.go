package serve

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/sysmon"
)

// limitProcessors limits the service to half of the processors: the programs run on the same host and need
// the others. On all processors Go wakes a second thread for each piece of work that the first
// thread would have started microseconds later. GOMAXPROCS from the environment takes precedence.
func limitProcessors(c *cli.CLI) {
	if c.Env("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2))
	}
}

// limitMemory sets Go's memory limit to limit, that of all memory of the service: otherwise
// garbage would double the memory of large requests and answers. That memory is counted and stays
// below the limit, so the collector never works in vain. GOMEMLIMIT from the environment takes
// precedence.
func limitMemory(c *cli.CLI, limit api.Size) {
	if c.Env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(limit - 64*api.MiB)) // for memory outside the heap
	}
}

// The lower and upper limit of the GC percentage, the growth in bytes that it aims at between
// them, and the interval of its adjustment.
const (
	minGCPercent     = 50
	maxGCPercent     = 200
	targetHeapGrowth = 8 << 20
	gcTuneInterval   = time.Second
)

// tuneGC adjusts the GC percentage to the memory in use, until ctx is done: few collections
// while little is in use, earlier ones when a thousand connections are open. GOGC or GOMEMLIMIT
// from the environment takes precedence.
func tuneGC(ctx context.Context, c *cli.CLI) {
	if c.Env("GOGC") != "" || c.Env("GOMEMLIMIT") != "" {
		return
	}

	tick := time.NewTicker(gcTuneInterval)
	defer tick.Stop()

	now := 0
	for {
		if want := gcPercentFor(liveMemory()); want != now {
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

// gcPercentFor is the GC percentage for this number of bytes in use, in steps of ten.
func gcPercentFor(bytes uint64) int {
	return int(max(minGCPercent, min(maxGCPercent, 100*targetHeapGrowth/max(bytes, 1)/10*10)))
}

// liveMemory is the memory that the last collection found in use. The GC percentage is relative to it.
func liveMemory() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"},
		{Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	sum := uint64(0)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}

// timerSlack is how late the kernel may wake the service's threads. It is used if the slack of the
// monitor thread alone cannot be set. It does not apply to the programs' threads: an agent that
// the service started was started before.
const timerSlack = time.Millisecond

// setTimerSlack makes Go's monitor thread wake less often, which saves a fifth of a run's processor
// time. For a service that was not started as root it sets a smaller slack for all threads; later
// threads inherit it. If both fail the service is only slower. That is so in a build with cgo,
// where Go cannot reach all threads.
func setTimerSlack() {
	if sysmon.SlowMonitor() != nil {
		_, _, _ = syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0)
	}
}
