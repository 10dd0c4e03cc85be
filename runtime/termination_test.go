package runtime

import (
	"bytes"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
)

// AGT-41. A run that a limit has ended has that verdict however long the kernel takes to end its
// processes, and its time ends with the signal. A run whose first process has ended by itself,
// while processes and memory are left, has the verdict of that process. If the processes are still
// there after the wait, the verdict stays, and neither the cell nor the slot serves another run
// before they are gone; the run's files are not collected then, and the result says so. The kernel
// is not slow in this test; the waits are set to end at once.
func TestSlowTerminationKeepsItsVerdict(t *testing.T) {
	dir, second := privately(t)
	if !second {
		return
	}

	f := &fault{}
	h, err := Open(Config{
		RunDir: filepath.Join(dir, "run"), Slots: 1, Images: tinyStore(t), fault: f.step, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})

	run := func(script string, wall time.Duration) (api.Result, error) {
		return h.runner.Run(t.Context(), api.Run{
			Image: "tiny", Argv: []string{"/bin/sh", "-c", "echo x > x; " + script},
			Limits: api.Limits{Wall: api.Duration(wall), CPU: api.Duration(20 * time.Second), Memory: 64 * api.MiB},
		}, api.Streams{}, api.Caller{})
	}

	const sleepers = "for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; "
	ends := []struct {
		how, script string
		wall        time.Duration
		want        api.Verdict
		exit        int
	}{
		{"a limit ends it", sleepers + "sleep 60", 2 * time.Second, api.WallLimit, -1},
		{"its first process ends", "dd if=/dev/zero of=/tmp/large bs=65536 count=256 2>/dev/null; " + sleepers + "exit 0",
			20 * time.Second, api.OK, 0},
		{"its first process fails", sleepers + "exit 7", 20 * time.Second, api.Nonzero, 7},
	}

	if res, err := run("exit 7", 20*time.Second); err != nil || res.Verdict != api.Nonzero {
		t.Fatalf("before: %s, %v", res.Verdict, err)
	}

	for _, tt := range []struct {
		name         string
		empty, death time.Duration
	}{
		{"only the time of a known end is left", -time.Second, 20 * time.Second},
		{"no time is left", -time.Second, -time.Second},
	} {
		hadEmpty, hadDeath := cell.EmptyTimeout, cell.KillTimeout
		cell.EmptyTimeout, cell.KillTimeout = tt.empty, tt.death
		unsaid, told := 0, 0
		for i := range 5 * len(ends) {
			end := ends[i%len(ends)]
			res, err := run(end.script, end.wall)
			if err != nil || res.Verdict != end.want || res.ExitCode != end.exit {
				t.Errorf("%s, %s: %s, exit %d, %v; want %s, exit %d", tt.name, end.how, res.Verdict, res.ExitCode, err, end.want, end.exit)
			}
			if wall, killed := res.Timing.Wall, res.Timing.Killed; end.want == api.WallLimit && (killed == 0 || wall > killed) {
				t.Errorf("%s: wall %d ns, killed after %d ns: the time is not to contain the end", tt.name, wall, killed)
			}

			switch {
			case len(res.Files) == 1 && len(res.Skipped) == 0:
			case len(res.Files) == 0 && len(res.Skipped) == 1 && res.Skipped[0].Name == "..." && strings.Contains(res.Skipped[0].Reason, "alive"):
				told++
			default:
				unsaid++
			}

			// The slot is given back as soon as it may serve another run.
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				if _, leased, _, _ := h.runner.Pool.Stats(); leased == 0 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s, %s: the slot is not given back", tt.name, end.how)
				}
			}
		}

		cell.EmptyTimeout, cell.KillTimeout = hadEmpty, hadDeath
		if unsaid > 0 || (told > 0) != (tt.death < 0) {
			t.Errorf("%s: %d results have neither their file nor a word of it, %d say that it was not collected", tt.name, unsaid, told)
		}
		if res, err := run("exit 7", 20*time.Second); err != nil || res.Verdict != api.Nonzero {
			t.Errorf("after: %s, %v", res.Verdict, err)
		}
	}
}

// AGT-41. A session whose processes take long to die is destroyed completely, and the log reports
// nothing else: its processes get the time of a run whose end is known. The kernel is not slow in
// this test; the other waits are set to end at once.
func TestSlowTerminationOfASession(t *testing.T) {
	dir, second := privately(t)
	if !second {
		return
	}

	var log bytes.Buffer // read after the host is closed
	f := &fault{}
	h, err := Open(Config{
		RunDir: filepath.Join(dir, "run"), Slots: 1, Images: tinyStore(t), fault: f.step,
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name  string
		death time.Duration
	}{{"time enough", 20 * time.Second}, {"no time", -time.Second}} {
		s, err := h.CreateSession(t.Context(),
			api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 64 * api.MiB, Scratch: api.MiB}}, 0, api.Caller{})
		if err != nil {
			t.Fatal(err)
		}

		_, err = h.Exec(t.Context(), s.ID,
			api.Exec{Argv: []string{"/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 60 >/dev/null 2>&1 & done"}}, api.Streams{}, api.Caller{})
		if err != nil {
			t.Fatal(err)
		}

		hadEmpty, hadDestroy, hadDeath := cell.EmptyTimeout, cell.DestroyTimeout, cell.KillTimeout
		cell.EmptyTimeout, cell.DestroyTimeout, cell.KillTimeout = -time.Second, -time.Second, tt.death
		err = h.DeleteSession(s.ID, api.Caller{})
		cell.EmptyTimeout, cell.DestroyTimeout, cell.KillTimeout = hadEmpty, hadDestroy, hadDeath
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if says := log.Len() > 0; says != (tt.death < 0) {
			t.Errorf("%s: the log has %q", tt.name, log.String())
		}
	}

	if err := h.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
