package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// AGT-04, AGT-05: what an agent holds does not grow with its runs, however those end: descriptors,
// mounts, groups, namespaces, processes and goroutines. `make bench` does the same over a hundred
// thousand runs, with memory.
func TestMixedRunsLeakNothing(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1") // so that every kind of cell is in the same slot
	runs := 0
	round := func() {
		t.Helper()

		for _, mode := range []api.Mode{api.Strict, api.Fresh} {
			for _, script := range []string{"exit 0", "exit 3", "kill -9 $$", "yes", "sleep 9",
				"head -c 50000000 /dev/zero | tail -c 40000000 >/dev/null", "echo x > f", "sleep 9 & sleep 9 & exit 0"} {
				r := harness.Sh(script)
				r.Mode, r.Limits = mode, api.Limits{Wall: harness.Seconds(0.2), Memory: 16 * api.MiB, Output: 10000}
				a.MustRun(t, r)
			}

			r := api.Run{Image: "tiny", Argv: []string{"/nosuch"}, Mode: mode}
			a.Refused(t, r, api.CodeNoProgram)
			r = harness.Sh("sleep 9")
			r.Mode = mode
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			_, _ = a.Run(ctx, r) // the caller hangs up before it ends
			cancel()
			a.WaitIdle(t)
			runStream(t, a, t.Context(), harness.Sh("cat"), strings.NewReader("in"), nil, nil)
			runs += 11
		}
	}

	round()
	round()
	before := a.StableCounts(t, nil)
	for range harness.Soak(8) {
		round()
	}

	after := a.StableCounts(t, before)
	for kind, n := range after {
		if n > before[kind]+2 { // the sockets of idle callers come and go
			t.Errorf("%s: %d before, %d after %d runs", kind, before[kind], n, runs)
		}
	}

	t.Logf("held after %d runs: %v", runs, after)

	// The Go runtime prints its goroutines when it exits.
	if err := a.Cmd.Process.Signal(unix.SIGQUIT); err != nil {
		t.Fatal(err)
	}

	<-a.Done
	if n := strings.Count(a.Log.String(), "\ngoroutine "); n == 0 || n > 60 {
		t.Errorf("%d goroutines after %d runs; want some, and far fewer than runs", n, runs)
	}

	harness.Launch(t, a.Dir, harness.DataDir(t)).Stop() // removes what the killed agent left
}
