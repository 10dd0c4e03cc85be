package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// An agent that is asked to stop lets running runs end, and refuses others with a code that says
// that it is safe to retry elsewhere (AGT-11).
func TestStoppingLetsRunsEndAndRefusesOthers(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	first := &harness.FirstWriteWriter{Came: make(chan struct{})}
	in, hold := io.Pipe()
	done := make(chan api.Result, 1)
	go func() {
		res, err := a.RunStream(context.Background(), harness.Sh("echo begun; read -r _; echo ended"), in, first, nil)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()

	<-first.Came
	if _, err := a.Health(t.Context()); err != nil { // a connection for later requests
		t.Fatal(err)
	}
	if err := a.Cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}

	var err error
	for deadline := harness.Patience(); err == nil && time.Now().Before(deadline); { // until it has received the signal
		_, err = a.Run(context.Background(), harness.Sh("exit 0"))
	}

	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeStopping && e.Code != api.CodeAgentUnreachable {
		t.Errorf("a run for an agent that stops: %v; want stopping, or nobody there", err)
	} else if !e.RetrySafe {
		t.Errorf("%q is not said to be safe to retry", e.Message)
	}

	hold.Close()
	res := <-done
	harness.WantVerdict(t, res, api.OK)
	if first.String() != "begun\nended\n" {
		t.Errorf("the run under way printed %q", first.String())
	}

	select {
	case <-a.Done:
	case <-time.After(time.Until(harness.Patience())):
		t.Fatal("the agent has nothing to do and does not end")
	}

	if a.Err != nil {
		t.Errorf("brigd: %v", a.Err)
	}
}

// Concurrent runs of every kind on all slots do not disturb each other: each gets its own verdict,
// output and files.
func TestConcurrentRunsAreIsolated(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "4", "--memory", "4G")
	kinds := []struct {
		script string
		limits api.Limits
		mode   api.Mode
		want   api.Verdict
	}{
		{"echo $0 > out; echo $0", api.Limits{}, api.Strict, api.OK},
		{"echo $0 > out; echo $0; exit 5", api.Limits{}, api.Strict, api.Nonzero},
		{"echo $0; kill -SEGV $$", api.Limits{}, api.Strict, api.Signaled},
		{"echo $0; head -c 50000000 /dev/zero > /tmp/x", api.Limits{Memory: 16 * api.MiB}, api.Strict, api.MemoryLimit},
		{"echo $0; sleep 30", api.Limits{Wall: harness.Slowly(3)}, api.Strict, api.WallLimit},
		{"echo $0; while :; do :; done", api.Limits{CPU: harness.Slowly(0.1), Wall: harness.Seconds(20)}, api.Strict, api.CPULimit},
		{"echo $0 > out; echo $0", api.Limits{}, api.Fresh, api.OK},
	}

	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 14 {
				k := kinds[(i+2*worker)%len(kinds)]
				id := string(rune('A'+worker)) + string(rune('a'+i))
				r := api.Run{Image: "tiny", Argv: []string{"/bin/sh", "-c", k.script, id}, Limits: k.limits, Mode: k.mode}
				r.Labels.Task = id
				res, err := a.RunPatiently(t, r)
				if err != nil {
					t.Errorf("%s: %v", id, err)
					continue
				}
				if res.Verdict != k.want || string(res.Stdout) != id+"\n" || res.Labels.Task != id {
					t.Errorf("%s %q: verdict %s, stdout %q, task %q; want %s", id, k.script, res.Verdict, res.Stdout, res.Labels.Task, k.want)
				}

				for _, f := range res.Files {
					if f.Name == "out" && string(f.Content) != id+"\n" {
						t.Errorf("%s: got the file of %q", id, f.Content)
					}
				}
			}
		})
	}

	wg.Wait()
	if h, err := a.Health(t.Context()); err != nil || h.Leased != 0 || h.Memory != 0 {
		t.Errorf("after all runs: %+v, %v", h, err)
	}
}

// 16 MiB each way in one plain request, and 64 MiB each way over a stream, exactly as much as
// allowed: all bytes arrive, without a deadlock.
func TestAsMuchAsIsAllowed(t *testing.T) {
	a := harness.StartAgent(t, "--max-output", "64M")
	t.Run("a plain run", func(t *testing.T) {
		in := bytes.Repeat([]byte("0123456789abcde\n"), 1<<20)
		r := harness.Sh("exec cat")
		r.Stdin, r.Limits.Wall = in, api.DefaultCeiling().Wall
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		if !bytes.Equal(res.Stdout, in) || res.StdoutTruncated {
			t.Errorf("%d bytes came back; want the %d sent", len(res.Stdout), len(in))
		}
	})

	t.Run("a stream", func(t *testing.T) {
		in := bytes.Repeat([]byte("\x00\xff0123456789abc\n"), 4<<20)
		r := harness.Sh("exec cat")
		r.Limits = api.Limits{Output: 64 * api.MiB}
		out := bytes.NewBuffer(make([]byte, 0, len(in)))
		harness.WantVerdict(t, runStream(t, a, t.Context(), r, bytes.NewReader(in), out, nil), api.OK)
		if !bytes.Equal(out.Bytes(), in) {
			t.Errorf("%d bytes came back; want the %d sent", out.Len(), len(in))
		}
	})

	t.Run("a byte more", func(t *testing.T) {
		r := harness.Sh("head -c 16777217 /dev/zero")
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OutputLimit)
		if len(res.Stdout) != 16<<20 || !res.StdoutTruncated {
			t.Errorf("%d bytes kept, truncated %v", len(res.Stdout), res.StdoutTruncated)
		}
	})
}

// AGT-12: callers that leave at the moment when their run ends, stop it twice, or stop it before it
// has begun, do no harm to the agent.
func TestLeavingAtTheEndIsHarmless(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	var once time.Duration // how long one run takes, warm
	for range 5 {
		began := time.Now()
		a.MustRun(t, harness.Sh("exit 3"))
		once = max(time.Since(began), time.Millisecond)
	}

	var answered, left atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 250 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(int(4*once))))
				res, err := a.Run(ctx, harness.Sh("exit 3"))
				cancel()
				var e *api.Error
				switch {
				case err == nil && res.Verdict == api.Nonzero:
					answered.Add(1)
				case err == nil:
					t.Errorf("verdict %s", res.Verdict)
				case ctx.Err() != nil:
					left.Add(1)
				case !errors.As(err, &e) || e.Code != api.CodeBusy && e.Code != api.CodeOverloaded:
					t.Errorf("refused with %v", err)
				}
			}
		})
	}

	wg.Wait()
	if answered.Load() == 0 || left.Load() == 0 {
		t.Errorf("%d were answered and %d left: there was no race", answered.Load(), left.Load())
	}

	for deadline := harness.Patience(); ; time.Sleep(10 * time.Millisecond) {
		h, err := a.Health(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if h.Leased == 0 && h.Memory == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d slots and %d bytes are still taken", h.Leased, h.Memory)
		}
	}

	harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
}
