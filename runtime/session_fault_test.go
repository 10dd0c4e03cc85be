package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/runtime/volume"
)

// The steps from a request for a session to its end, in order.
var (
	createSteps = []string{
		"cell root", "cell dev", "cell groups", "cell container", "cell filter", "cell ready", "session group", "session shell", "session watch",
	}
	execSteps = []string{
		"exec leaf", "shell pipes", "shell clone", "run limits", "run files", "run stdio", "run start", "run watch", "run stop", "run collect",
	}
	endSteps = []string{"session end", "cell close"}
)

// AGT-17, for sessions: whichever step fails, the caller gets an error, a failing exec leaves the
// session as it was or ends it, nothing is left on the host, and the next session works as if
// nothing had happened.
func TestEverySessionStepFailsClosed(t *testing.T) {
	dir, second := privately(t)
	if !second {
		return
	}

	f := &fault{}
	var log bytes.Buffer // read when the host is closed
	h, err := Open(Config{
		RunDir: filepath.Join(dir, "run"), Slots: 2, Images: tinyStore(t), fault: f.step, noAhead: true,
		Volumes: volume.Config{Dir: filepath.Join(dir, "volumes")},
		Log:     slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		left, err := os.ReadDir(filepath.Join(dir, "run"))
		if err != nil || len(left) != 0 {
			t.Errorf("left in the run directory: %v, %v", left, err)
		}
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, errFault.Error()) {
				t.Errorf("not all was taken back:\n%s", line)
			}
		}
	})

	ask := api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 32 * api.MiB, Scratch: api.MiB}}
	createSteps := createSteps
	if _, err := os.Stat("/dev/loop-control"); err == nil { // not in user-mode Linux
		ask.Volume = &api.VolumeRequest{Name: "v", Size: api.VolumeSizeMin}
		createSteps = append([]string{"session volume"}, createSteps...)
	}

	do := func(id, script string) (string, error) {
		var out bytes.Buffer
		_, err := h.Exec(t.Context(), id,
			api.Exec{Argv: []string{"/bin/sh", "-c", script}, Limits: api.Limits{Wall: api.Duration(20 * time.Second)}},
			api.Streams{Stdout: &out, Stderr: &out}, api.Caller{})
		return out.String(), err
	}

	create := func() (api.Session, error) { return h.CreateSession(t.Context(), ask, 0, api.Caller{}) }
	made := func() api.Session {
		t.Helper()
		s, err := create()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := do(s.ID, "sleep 60 >/dev/null 2>&1 & echo ran"); err != nil || out != "ran\n" {
			t.Fatalf("without a fault: %q, %v", out, err)
		}
		return s
	}

	end := func(s api.Session) {
		t.Helper()
		var ended *api.Error
		if err := h.DeleteSession(s.ID, api.Caller{}); err != nil && !(errors.As(err, &ended) && ended.Code == api.CodeSessionEnded) {
			t.Errorf("delete: %v", err)
		}
	}

	end(made())
	before := awaitInventory(t, h.instance.id, time.Minute, unchanged())
	sound := func(t *testing.T) {
		t.Helper()
		f.set("")
		end(made())
		after := awaitInventory(t, h.instance.id, time.Minute, func(now map[string]int) bool { return len(testenv.Added(before, now)) == 0 })
		if added := testenv.Added(before, after); len(added) != 0 {
			t.Errorf("left by the failure:\n  %s", strings.Join(added, "\n  "))
		}
		if n := h.Health(); n.Sessions != 0 || n.Memory != 0 || n.Leased != 0 {
			t.Errorf("held by the failure: %+v", n)
		}
	}

	for _, step := range createSteps {
		t.Run(step, func(t *testing.T) {
			f.set(step)
			if s, err := create(); err == nil || !strings.Contains(err.Error(), errFault.Error()) || strings.Contains(err.Error(), "\n") {
				t.Errorf("created %q, %v", s.ID, err)
			}
			sound(t)
		})
	}

	for _, bug := range []bool{false, true} {
		for _, step := range execSteps {
			t.Run(fmt.Sprintf("%s, a bug: %v", step, bug), func(t *testing.T) {
				f.set("")
				s := made()
				f.set(step)
				if bug {
					f.crash(step)
				}

				func() {
					defer func() {
						if p := recover(); (p != nil) != bug {
							t.Errorf("panicked with %v", p)
						}
					}()
					if out, err := do(s.ID, "echo ran"); err == nil || !strings.Contains(err.Error(), errFault.Error()) {
						t.Errorf("it ended with %q, %v", out, err)
					}
				}()

				f.set("")
				if out, err := do(s.ID, "echo on"); err != nil || out != "on\n" {
					t.Errorf("the next exec of the session: %q, %v", out, err)
				}

				end(s)
				sound(t)
			})
		}
	}

	t.Run("exec destroy", func(t *testing.T) { // its end is not certain, so the session ends
		f.set("")
		s := made()
		f.set("exec destroy")
		_, _ = do(s.ID, "echo ran")
		awaitNoSession(t, h)
		if _, err := h.Session(s.ID, api.Caller{}); err == nil {
			t.Error("a session in doubt goes on")
		}
		sound(t)
	})

	for _, step := range endSteps {
		t.Run(step, func(t *testing.T) {
			f.set("")
			s := made()
			f.set(step)
			end(s)
			sound(t)
		})
	}

	got, want := f.steps(), slices.Concat(openSteps, createSteps, execSteps, endSteps, []string{"exec destroy"})
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("steps met:\n%q; want\n%q", got, want)
	}

	manySessions(t, h, f)
}

// awaitNoSession waits until no session exists.
func awaitNoSession(t *testing.T, h *Host) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); h.Health().Sessions > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a session in doubt does not end")
		}
	}
}

// manySessions runs execs, file operations and queries of several sessions concurrently with the
// ends of the sessions, for the race detector.
func manySessions(t *testing.T, h *Host, f *fault) {
	f.set("")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			s, err := h.CreateSession(t.Context(),
				api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 32 * api.MiB, Scratch: api.MiB}}, 0, api.Caller{})
			if err != nil {
				t.Error(err)
				return
			}

			var work sync.WaitGroup
			for i := range 4 {
				work.Go(func() {
					for n := 0; ; n++ {
						name := fmt.Sprintf("d%d/f%d", i, n%5)
						_, xerr := h.Exec(t.Context(), s.ID, api.Exec{Argv: []string{"/bin/sh", "-c", "sleep 30 >/dev/null 2>&1 & echo x >> all"}},
							api.Streams{}, api.Caller{})
						perr := h.PutFile(s.ID, name, false, false, strings.NewReader("content"), api.Caller{})
						r, gerr := h.OpenFile(s.ID, name, false, api.Caller{})
						if gerr == nil {
							_, gerr = new(bytes.Buffer).ReadFrom(r)
							gerr = errors.Join(gerr, r.Close())
						}

						_, lerr := h.ListFiles(t.Context(), s.ID, "", false, func(int64) error { return nil }, api.Caller{})
						_, ierr := h.Session(s.ID, api.Caller{})
						h.Sessions(api.Caller{})
						for _, err := range []error{xerr, perr, gerr, lerr, ierr} {
							var e *api.Error
							switch {
							case err == nil:
							case errors.As(err, &e) && (e.Code == api.CodeSessionEnded || e.Code == api.CodeSessionBusy):
							default:
								t.Errorf("%v", err)
							}
						}

						if ierr != nil {
							return
						}
					}
				})
			}

			time.Sleep(2 * time.Second)
			if err := h.DeleteSession(s.ID, api.Caller{}); err != nil {
				t.Error(err)
			}

			work.Wait()
		})
	}

	wg.Wait()
}

// Sessions that wait for a volume, which another session may take long to release, do not keep
// others from building a cell: as many as may be built at once wait here.
func TestWaitForVolumeDoesNotBlockCellBuilds(t *testing.T) {
	dir, second := privately(t)
	if !second {
		return
	}

	end := make(chan struct{})
	h, err := Open(Config{
		RunDir: filepath.Join(dir, "run"), Slots: 1, Sessions: 64, Images: tinyStore(t),
		Volumes: volume.Config{Dir: filepath.Join(dir, "volumes")},
		fault: func(step string) error {
			if step == "session volume" {
				<-end
				return errFault
			}
			return nil
		},
	})

	check(t, err)
	defer func() { check(t, h.Close()) }()

	small := api.Limits{Memory: 16 * api.MiB, Scratch: api.MiB, Wall: api.Duration(20 * time.Second)}
	made := make(chan error, 2*goruntime.NumCPU())
	for range cap(made) {
		go func() {
			_, err := h.CreateSession(t.Context(),
				api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: small.Memory, Scratch: small.Scratch},
					Volume: &api.VolumeRequest{Name: "v"}}, 0, api.Caller{})
			made <- err
		}()
	}
	defer func() {
		for range cap(made) {
			if err := <-made; err == nil {
				t.Error("a session was made without its volume")
			}
		}
	}()
	defer close(end)

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // until their cells are there
		cells, err := filepath.Glob(filepath.Join(h.instance.mnt(), "cells", "session-*"))
		if check(t, err); len(cells) == cap(made) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d cells are there", len(cells))
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	res, err := h.runner.Run(ctx, api.Run{Image: "tiny", Argv: []string{"/bin/true"}, Limits: small}, api.Streams{}, api.Caller{})
	if err != nil || res.Verdict != api.OK {
		t.Errorf("a run meanwhile: %s, %v", res.Verdict, err)
	}
}
