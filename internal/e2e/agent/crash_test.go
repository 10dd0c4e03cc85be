package agent

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// AGT-01, AGT-02: an agent that is killed under a mixed load leaves no process, and the next agent
// removes what else is left. Every client gets an error and may retry: none gets a verdict that its
// program did not cause.
func TestKilledAgentLeavesNothing(t *testing.T) {
	testenv.NeedRoot(t)
	pgrep := testenv.NeedTool(t, "pgrep", "procps")
	data := harness.DataDir(t)
	dir := harness.PublicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	marker := fmt.Sprintf("brig-marker-%d", os.Getpid())
	forks := harness.CompileC(t, "forks", `#include <unistd.h>
int main(void) { for (int i = 0; i < 20; i++) if (!fork()) { setsid(); for (;;) pause(); } for (;;) pause(); }`)
	var answered, failed atomic.Int64
	var record []string // groups of the agent killed last
	kills := harness.Soak(20)
	for range kills {
		a := harness.Launch(t, dir, data, "--slots", "3")
		if left := harness.ExistingGroups(record); len(left) > 0 {
			t.Errorf("groups of the dead agent outlive the start of the next: %q", left)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "run", "*")); len(left) != 1 {
			t.Errorf("instance directories %q; want the living agent's alone", left)
		}
		if left, _ := filepath.Glob(filepath.Join(data, "images", "work", "*")); len(left) != 0 {
			t.Errorf("work of broken imports %q", left)
		}

		clients := startLoad(t, a, harness.Program(forks, marker), &answered, &failed)
		for deadline := harness.Patience(); answered.Load() == 0 && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond) // wait until there is a load
		}

		time.Sleep(harness.Slow(time.Duration(rand.IntN(400)) * time.Millisecond))
		pid := a.Cmd.Process.Pid
		a.Kill()
		clients.Wait()
		for deadline := harness.Patience(); exec.Command(pgrep, "-f", marker).Run() == nil || len(harness.Descendants(t, pid)) > 0; {
			if time.Now().After(deadline) {
				t.Fatal("processes outlive the agent")
			}
			time.Sleep(20 * time.Millisecond)
		}

		var err error
		if record, err = harness.RecordedGroups(dir); err != nil || len(record) == 0 {
			t.Errorf("the dead agent recorded %d groups, %v", len(record), err)
		}
	}

	if answered.Load() == 0 || failed.Load() < int64(kills) {
		t.Errorf("%d runs answered and %d told of the agent's end: there was no load", answered.Load(), failed.Load())
	}

	a := harness.Launch(t, dir, data)
	harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
	if left := harness.ExistingGroups(record); len(left) > 0 {
		t.Errorf("groups of the dead agent outlive the start of the next: %q", left)
	}

	a.Stop()
}

// startLoad starts clients of several kinds, which send requests until the agent is gone.
func startLoad(t *testing.T, a *harness.Agent, lasting api.Run, answered, failed *atomic.Int64) *sync.WaitGroup {
	lasting.Limits.Wall = harness.Seconds(20)
	spin := harness.Sh("while :; do :; done")
	spin.Limits = api.Limits{CPU: harness.Seconds(0.1), Wall: harness.Seconds(20)}
	hungry := harness.Sh("head -c 50000000 /dev/zero | tail -c 40000000 >/dev/null")
	hungry.Limits.Memory = 16 * api.MiB
	fresh := harness.Sh("echo fresh > file; echo hello")
	fresh.Mode = api.Fresh
	var wg sync.WaitGroup
	for _, load := range []struct {
		run    api.Run
		want   api.Verdict
		stream bool
	}{
		{run: lasting}, // gets no verdict
		{run: spin, want: api.CPULimit},
		{run: hungry, want: api.MemoryLimit},
		{run: fresh, want: api.OK},
		{run: harness.Sh("exit 3"), want: api.Nonzero},
		{run: harness.Sh("cat >/dev/null; head -c 300000 /dev/zero"), want: api.OK, stream: true},
	} {
		wg.Go(func() {
			for {
				var res api.Result
				var err error
				if load.stream {
					res, err = a.RunStream(context.Background(), load.run, strings.NewReader("some input"), nil, nil)
				} else {
					res, err = a.Run(context.Background(), load.run)
				}

				var e *api.Error
				switch {
				case err == nil && res.Verdict == load.want && load.want != "":
					answered.Add(1)
				case err == nil:
					t.Errorf("%q ended with %s; want %q", load.run.Argv, res.Verdict, load.want)
					return
				case !errors.As(err, &e):
					t.Errorf("%q: the error is none of brig's: %v", load.run.Argv, err)
					return
				case e.Code == api.CodeBusy || e.Code == api.CodeOverloaded:
					time.Sleep(5 * time.Millisecond)
				case e.Code == api.CodeAgentGone || e.Code == api.CodeAgentUnreachable:
					failed.Add(1)
					if !e.RetrySafe && !load.stream {
						t.Errorf("%q: %v; want it to be retry-safe", load.run.Argv, e)
					}
					return

				default:
					t.Errorf("%q: %s: %v", load.run.Argv, e.Code, e)
					return
				}
			}
		})
	}

	wg.Go(func() { // an import that the kill interrupts
		r, w := io.Pipe()
		wg.Go(func() {
			into := tar.NewWriter(w)
			err := into.WriteHeader(&tar.Header{Name: "large", Mode: 0o644, Size: 1 << 30})
			for err == nil {
				time.Sleep(20 * time.Millisecond)
				_, err = into.Write(make([]byte, 4096))
			}
		})

		_, err := a.Import(context.Background(), r, "killed", "")
		r.Close()
		var e *api.Error
		if !errors.As(err, &e) || e.Code != api.CodeAgentGone && e.Code != api.CodeAgentUnreachable {
			t.Errorf("import: %v; want agent-gone", err)
		}
	})

	return &wg
}

// AGT-11: a stop during work that does not end by itself ends that work, tells the callers, and
// leaves nothing.
func TestStopUnderLoad(t *testing.T) {
	a := harness.StartParallelAgent(t, "--slots", "2")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			r := harness.Sh("while :; do sleep 1; done")
			res, err := a.Run(context.Background(), r)
			var e *api.Error
			switch {
			case err == nil && res.Verdict == api.Canceled:
			case errors.As(err, &e) && (e.Code == api.CodeStopping || e.Code == api.CodeAgentGone):
			default:
				t.Errorf("a run that the stop ended: %s, %v; want canceled, or stopping", res.Verdict, err)
			}
		})
	}

	for deadline := harness.Patience(); ; time.Sleep(5 * time.Millisecond) {
		if h, err := a.Health(t.Context()); err == nil && h.Leased == 2 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("there is no load: %+v, %v", h, err)
		}
	}

	start := time.Now()
	a.Stop()
	if took := time.Since(start); took > harness.Slow(20*time.Second) {
		t.Errorf("stopping took %s", took)
	}

	wg.Wait()
}

// OUT-16: a caller that hangs up ends the run within a second: the slot is free and none of its
// processes is alive.
func TestHangUpCancels(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	forks := harness.CompileC(t, fmt.Sprintf("forks-%d", os.Getpid()), `#include <unistd.h>
int main(void) { fork(); setsid(); fork(); for (;;) pause(); }`)
	harness.Promptly(t, time.Second, func() time.Duration {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		done := make(chan error, 1)
		go func() { _, err := a.Run(ctx, harness.Program(forks)); done <- err }()
		harness.FindProcess(t, "./"+forks.Name)
		left := time.Now()
		cancel()
		if err := <-done; err == nil {
			t.Fatal("answered")
		}

		a.WaitIdle(t)
		took := time.Since(left)
		if left := harness.ProcessesNamed(t, "./"+forks.Name); len(left) != 0 {
			t.Errorf("processes outlive their caller: %v", left)
		}
		return took
	})

	harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
}
