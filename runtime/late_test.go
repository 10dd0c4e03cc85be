package runtime

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// AGT-42. An agent that is late, and looks only when the wall limit is long over, finds the end of
// a program and the expired timer at the same time. A program that ended within its limit then has
// its own verdict, in a run and in an exec of a session. One that did not may have been stopped with the
// agent: that is an error, after which the run is repeated, and not a verdict, unless the program computed.
// The agent is late here because the test delays it before the step watch.
func TestLateAgentKeepsTheVerdict(t *testing.T) {
	dir, second := privately(t)
	if !second {
		return
	}

	const wall, late = 500 * time.Millisecond, 1500 * time.Millisecond
	f := &fault{}
	hold := func(name string) error {
		if name == "run watch" {
			time.Sleep(late)
		}
		return f.step(name)
	}

	h, err := Open(Config{
		RunDir: filepath.Join(dir, "run"), Slots: 1, Images: tinyStore(t), fault: hold, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})

	limits := api.Limits{Wall: api.Duration(wall), CPU: api.Duration(20 * time.Second), Memory: 64 * api.MiB}
	s, err := h.CreateSession(t.Context(),
		api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 64 * api.MiB, Scratch: api.MiB}}, 0, api.Caller{})
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		script string
		want   api.Verdict
		exit   int
	}{
		{"exit 0", api.OK, 0},
		{"exit 7", api.Nonzero, 7},
		{"kill -9 $$", api.Signaled, -1},
		{"while :; do :; done", api.WallLimit, -1},
		{"sleep 60", "", 0},
		{"sleep 1", "", 0},
	} {
		argv := []string{"/bin/sh", "-c", tt.script}
		for what, execute := range map[string]func() (api.Result, error){
			"run": func() (api.Result, error) {
				return h.runner.Run(t.Context(), api.Run{Image: "tiny", Argv: argv, Limits: limits}, api.Streams{}, api.Caller{})
			},
			"exec": func() (api.Result, error) {
				return h.Exec(t.Context(), s.ID, api.Exec{Argv: argv, Limits: limits}, api.Streams{}, api.Caller{})
			},
		} {
			wrong := ""
			for range 5 { // on a busy machine the program itself may be late
				res, err := execute()
				if wrong = checkResult(res, err, tt.want, tt.exit); wrong == "" {
					break
				}
			}
			if wrong != "" {
				t.Errorf("%s of %q: %s", what, tt.script, wrong)
			}
		}
	}
}

// checkResult says what is wrong with a result.
func checkResult(res api.Result, err error, want api.Verdict, exit int) string {
	if want == "" {
		var e *api.Error
		if !errors.As(err, &e) || e.Code != api.CodeHostExhausted || !e.RetrySafe {
			return fmt.Sprintf("%s, %v; want an error that asks to repeat it", res.Verdict, err)
		}
		return ""
	}
	if err != nil || res.Verdict != want || res.ExitCode != exit {
		return fmt.Sprintf("%s, exit %d, %v; want %s, exit %d; timing %+v", res.Verdict, res.ExitCode, err, want, exit, res.Timing)
	}
	if hit := len(res.LimitsHit) > 0; hit != (want == api.WallLimit) {
		return fmt.Sprintf("%s, limits hit %q", res.Verdict, res.LimitsHit)
	}
	return ""
}
