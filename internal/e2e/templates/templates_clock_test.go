package templates

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The driver of Java finds times by their values. The lower half of the monotonic clock's ns is near 0 once in
// four seconds: then two numbers of a table of the machine look like such a time, and each run changed
// them, in the first 86 minutes of a host.
func TestTemplatesMadeWhenTheLowerHalfOfTheClockIsSmall(t *testing.T) {
	r := api.Run{Language: "java",
		Source: api.Bytes("class Main { public static void main(String[] a) { System.out.println(java.util.List.of(1, 2)); } }")}
	cold := r
	cold.NoTemplate = true

	made := 0
	for _, before := range []time.Duration{10 * time.Millisecond, 25 * time.Millisecond, 60 * time.Millisecond} {
		a := harness.StartAgent(t)
		harness.Images.Load(t, a, "java")
		harness.WantVerdict(t, a.MustRun(t, cold), api.OK) // its cell is there, and the program is compiled
		time.Sleep(untilLowerHalfIsSmall(t) - before)
		for range 3 {
			switch res := a.MustRun(t, r); {
			case res.Verdict == api.OK && res.Host.Template:
				made++
			case res.Verdict == api.OK && strings.Contains(res.Host.Cold, "could be two other numbers"):
				// On a busy host so many times fit that other numbers may be one of them: then there is no template.
				t.Logf("made %s before: %s", before, res.Host.Cold)
			default:
				t.Errorf("made %s before: %s, %+v: %s", before, res.Verdict, res.Host, res.Stdout)
			}
		}
	}

	if made == 0 {
		t.Error("no template was made")
	}
}

// untilLowerHalfIsSmall is how long it takes until the lower 32 bits of the monotonic clock's ns are 0 the time after
// the next 100 ms.
func untilLowerHalfIsSmall(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	left := time.Duration(1<<32 - now.Nano()&(1<<32-1))
	if left < 100*time.Millisecond {
		left += 1 << 32
	}
	return left
}
