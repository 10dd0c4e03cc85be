package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// AGT-04, AGT-05: what an agent holds does not grow with its runs, however those end: descriptors,
// mounts, groups, namespaces, processes and goroutines. `make bench` does the same over a hundred
// thousand runs, with memory.
func TestMixedRunsLeakNothing(t *testing.T) {
	a := startAgent(t, "--slots", "1") // so that every kind of cell is in the same slot
	runs := 0
	round := func() {
		t.Helper()

		for _, mode := range []api.Mode{api.Strict, api.Fresh} {
			for _, script := range []string{"exit 0", "exit 3", "kill -9 $$", "yes", "sleep 9",
				"head -c 50000000 /dev/zero | tail -c 40000000 >/dev/null", "echo x > f", "sleep 9 & sleep 9 & exit 0"} {
				r := sh(script)
				r.Mode, r.Limits = mode, api.Limits{Wall: seconds(0.2), Memory: 16 * api.MiB, Output: 10000}
				a.run(t, r)
			}

			r := api.Run{Image: "tiny", Argv: []string{"/nosuch"}, Mode: mode}
			a.refused(t, r, api.CodeNoProgram)
			r = sh("sleep 9")
			r.Mode = mode
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			_, _ = a.Run(ctx, r) // the caller hangs up before it ends
			cancel()
			a.waitIdle(t)
			a.stream(t, t.Context(), sh("cat"), strings.NewReader("in"), nil, nil)
			runs += 11
		}
	}

	round()
	round()
	before := a.stableCounts(t, nil)
	for range soak(8) {
		round()
	}

	after := a.stableCounts(t, before)
	for kind, n := range after {
		if n > before[kind]+2 { // the sockets of idle callers come and go
			t.Errorf("%s: %d before, %d after %d runs", kind, before[kind], n, runs)
		}
	}

	t.Logf("held after %d runs: %v", runs, after)

	// The Go runtime prints its goroutines when it exits.
	if err := a.cmd.Process.Signal(unix.SIGQUIT); err != nil {
		t.Fatal(err)
	}

	<-a.done
	if n := strings.Count(a.log.String(), "\ngoroutine "); n == 0 || n > 60 {
		t.Errorf("%d goroutines after %d runs; want some, and far fewer than runs", n, runs)
	}

	launch(t, a.dir, dataDir(t)).stop() // removes what the killed agent left
}

// waitIdle waits until no slot is leased.
func (a *agent) waitIdle(t *testing.T) {
	t.Helper()
	for deadline := patience(); ; time.Sleep(5 * time.Millisecond) {
		h, err := a.Health(t.Context())
		if err == nil && h.Leased == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a slot is still taken: %+v, %v", h, err)
		}
	}
}

// stableCounts returns what the agent holds once that is no more than before, or after a while: the
// keepers clean up after a run.
func (a *agent) stableCounts(t *testing.T, before map[string]int) map[string]int {
	t.Helper()
	time.Sleep(slow(time.Second))
	for deadline := patience(); ; time.Sleep(50 * time.Millisecond) {
		now, grown := a.heldCounts(t), false
		for kind, n := range now {
			grown = grown || n > before[kind]
		}
		if before == nil || !grown || time.Now().After(deadline) {
			return now
		}
	}
}

// heldCounts counts what a leak in the agent would show up in.
func (a *agent) heldCounts(t *testing.T) map[string]int {
	t.Helper()
	pid := a.cmd.Process.Pid
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}

	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		t.Fatal(err)
	}

	n := map[string]int{"descriptor": len(fds), "mount": strings.Count(string(mounts), "\n")}
	groups, err := recordedGroups(a.dir)
	if err != nil || len(groups) == 0 {
		t.Fatalf("groups of the agent: %q, %v", groups, err)
	}

	for _, g := range groups {
		_ = filepath.WalkDir(g, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() { // some disappear during the walk
				n["group"]++
			}
			return nil
		})
	}

	spaces := map[string]bool{}
	for _, p := range append(descendants(pid), pid) {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/ns/*", p))
		for _, l := range links {
			if to, err := os.Readlink(l); err == nil {
				spaces[to] = true
			}
		}
		n["process"]++
	}

	n["namespace"] = len(spaces)
	return n
}
