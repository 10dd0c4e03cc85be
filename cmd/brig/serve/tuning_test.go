package serve

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

func TestGCPercentIsBounded(t *testing.T) {
	const mib = 1 << 20
	for bytes, want := range map[uint64]int{0: maxGCPercent, 1 * mib: maxGCPercent, 4 * mib: 200, 5 * mib: 160, 8 * mib: 100, 12 * mib: 60,
		20 * mib: minGCPercent, 2 << 30: minGCPercent} {
		if got := gcPercentFor(bytes); got != want {
			t.Errorf("%d MiB in use: %d %%, want %d %%", bytes/mib, got, want)
		}
	}
}

// The percentage follows the memory in use, in both directions.
func TestTuneGCFollowsMemoryInUse(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))

	percent := func() int {
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s)
		return int(s[0].Value.Uint64())
	}

	wait := func(want func(int) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !want(percent()); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the percentage stays at %d", percent())
			}
		}
	}

	c := &cli.CLI{Env: func(string) string { return "" }}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	held := make([]byte, 64<<20)
	runtime.GC()
	go func() { defer close(ended); tuneGC(ctx, c) }()
	wait(func(p int) bool { return p == minGCPercent })
	runtime.KeepAlive(held)
	held = nil //nolint:ineffassign // the collector may free it now
	runtime.GC()
	wait(func(p int) bool { return p > minGCPercent })
	stop()
	<-ended

	debug.SetGCPercent(77)
	c.Env = func(name string) string { return map[string]string{"GOGC": "77"}[name] }
	tuneGC(t.Context(), c) // returns at once
	if p := percent(); p != 77 {
		t.Errorf("GOGC was set, and the percentage is %d", p)
	}
}
