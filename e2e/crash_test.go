package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// processesBelow counts processes whose command line or parent chain is ours: all
// that descend from pid.
func descendants(pid int) int {
	out, err := exec.Command("ps", "-eo", "pid=,ppid=").Output()
	if err != nil {
		return -1
	}
	children := map[int][]int{}
	for line := range strings.Lines(string(out)) {
		var p, pp int
		if _, err := fmt.Sscan(line, &p, &pp); err == nil {
			children[pp] = append(children[pp], p)
		}
	}
	n := 0
	for todo := children[pid]; len(todo) > 0; {
		n++
		todo = append(todo[1:], children[todo[0]]...)
	}
	return n
}

// AGT-01: an agent that is killed leaves no process, and the next one removes
// what else is left.
func TestKilledAgentLeavesNothing(t *testing.T) {
	testenv.NeedRoot(t)
	data := dataDir(t)
	dir, err := os.MkdirTemp("/var/tmp", "brig-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	testenv.CleanHost(t)
	marker := fmt.Sprintf("brig-marker-%d", os.Getpid())
	forks := compileC(t, "forks", `#include <unistd.h>
int main(void) { for (int i = 0; i < 20; i++) if (!fork()) { setsid(); for (;;) pause(); } for (;;) pause(); }`)
	for round := range 10 {
		a := launch(t, dir, data)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				r := program(forks, marker)
				r.Limits.Wall = seconds(20)
				_, err := a.Run(context.Background(), r)
				if err == nil {
					t.Errorf("round %d: a run of a killed agent was answered", round)
				}
			})
		}
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
		pid := a.cmd.Process.Pid
		a.kill()
		wg.Wait()
		deadline := time.Now().Add(3 * time.Second)
		for exec.Command("pgrep", "-f", marker).Run() == nil || descendants(pid) > 0 {
			if time.Now().After(deadline) {
				t.Fatalf("round %d: processes outlive the agent", round)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	a := launch(t, dir, data)
	wantVerdict(t, a.run(t, sh("exit 0")), api.OK)
	if left, _ := filepath.Glob(filepath.Join(dir, "run", "*")); len(left) != 1 {
		t.Errorf("instance directories %q; want the living agent's alone", left)
	}
	a.stop()
}

// A stop in the middle of work ends the runs and leaves nothing.
func TestStopUnderLoad(t *testing.T) {
	a := startAgent(t)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			r := sh("while :; do sleep 1; done")
			_, _ = a.Run(context.Background(), r) // canceled, or stopping: the host tells whether it ended well
		})
	}
	time.Sleep(300 * time.Millisecond)
	start := time.Now()
	a.stop()
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("stopping took %s", took)
	}
	wg.Wait()
}

// AGT-04: descriptors and cells of the agent do not grow with its runs, however
// those end.
func TestMixedRunsLeakNothing(t *testing.T) {
	a := startAgent(t)
	fds := func() int {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", a.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	mixed := func() {
		for _, script := range []string{"exit 0", "exit 3", "kill -9 $$", "yes", "sleep 9", "head -c 50000000 /dev/zero | tail -c 40000000 >/dev/null", "echo x > f", "nosuchcommand"} {
			r := sh(script)
			r.Limits = api.Limits{Wall: seconds(0.2), Memory: 16 * api.MiB, Output: 10000}
			a.run(t, r)
		}
		r := api.Run{Image: "tiny", Argv: []string{"/nosuch"}}
		a.refused(t, r, api.CodeNoProgram)
	}
	mixed()
	mixed()
	before := fds()
	for range 15 {
		mixed()
	}
	time.Sleep(300 * time.Millisecond) // the keepers tidy behind the answers
	if after := fds(); after > before+12 {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// A caller who hangs up ends the run within a second, and the slot is free.
func TestHangUpCancels(t *testing.T) {
	a := startAgent(t, "--slots", "1")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := a.Run(ctx, sh("sleep 20")); err == nil {
		t.Fatal("answered")
	}
	deadline := time.Now().Add(time.Second)
	for {
		h, err := a.Health(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if h.Leased == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the slot is still taken a second after the caller left")
		}
		time.Sleep(10 * time.Millisecond)
	}
	wantVerdict(t, a.run(t, sh("exit 0")), api.OK)
}
