//go:build vm

package limits

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// AGT-14: a clock step ends no run and keeps none alive. The step affects the whole machine, so
// this test needs its own: .ci/test-v2.
func TestClockStepped(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	step := func(by time.Duration) {
		t.Helper()
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
			t.Errorf("read the clock: %v", err)
			return
		}

		before := time.Now()
		to := unix.NsecToTimespec(now.Nano() + int64(by))
		if err := unix.ClockSettime(unix.CLOCK_REALTIME, &to); err != nil {
			t.Errorf("step the clock: %v", err)
		}

		wall := time.Now().Round(0).Sub(before.Round(0)) // the control: the clock has moved
		if off := wall - by; off < -10*time.Second || off > 10*time.Second {
			t.Errorf("the wall clock moved by %s; want %s", wall, by)
		}
	}

	for _, by := range []time.Duration{time.Hour, -time.Hour, 400 * 24 * time.Hour, -400 * 24 * time.Hour} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			stepped := make(chan struct{})
			go func() { // joined below
				defer close(stepped)
				time.Sleep(harness.Slow(200 * time.Millisecond))
				step(by)
			}()

			r := harness.Sh("sleep 4")
			r.Limits.Wall = harness.Seconds(25)
			res := a.MustRun(t, r)
			<-stepped
			harness.WantVerdict(t, res, api.OK)
			if w := time.Duration(res.Timing.Wall); w < 3*time.Second || w > 20*time.Second {
				t.Errorf("a sleep of 4 s took %s", w)
			}

			r = harness.Sh("while :; do sleep 1; done")
			r.Limits.Wall = harness.Seconds(1)
			res = a.MustRun(t, r)
			harness.WantVerdict(t, res, api.WallLimit)
			if w := time.Duration(res.Timing.Wall); w < time.Second || w > 20*time.Second {
				t.Errorf("a limit of 1 s was met after %s", w)
			}
		})
	}
}
