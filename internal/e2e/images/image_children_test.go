package images

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// imageChild waits for a child of the agent, other than one already seen, that works on an image:
// hold or copy.
func imageChild(t *testing.T, a *harness.Agent, what string, before int) (pid int) {
	t.Helper()
	for deadline := harness.Patience(); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if pid := findImageChild(t, a, what); pid != 0 && pid != before {
			return pid
		}
	}
	t.Fatalf("no child of the agent does %s\n%s", what, a.Log)
	return 0
}

// findImageChild is the child of the agent that does that now, or zero.
func findImageChild(t *testing.T, a *harness.Agent, what string) (pid int) {
	t.Helper()
	for _, pid := range harness.Descendants(t, a.Cmd.Process.Pid) {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && string(text) == "imagefiles\x00"+what+"\x00" {
			return pid
		}
	}
	return 0
}

// endsWithTheAgent reports whether the child has asked the kernel for a signal at the end of its pipe: O_ASYNC is
// among the flags of that descriptor (LIFE_FD of imagefiles.h).
func endsWithTheAgent(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/6", pid))
	if err != nil {
		return false
	}

	_, flags, _ := strings.Cut(string(text), "flags:")
	flags, _, _ = strings.Cut(strings.TrimSpace(flags), "\n")
	n, err := strconv.ParseUint(flags, 8, 32)
	return err == nil && n&unix.O_ASYNC != 0
}

// stopImageChild stops a child of the agent that works on the image of a run: it does not end until the test lets it.
// The run goes on, and its end is delivered. On a busy machine a copy may end unseen, and then there is another run.
func stopImageChild(t *testing.T, a *harness.Agent, what string, run func() error) (pidfd int, ended chan error) {
	t.Helper()
	ended = make(chan error, 1)
	for range 20 {
		go func() { ended <- run() }() // joined by the caller, or below
		for len(ended) == 0 {
			pid := findImageChild(t, a, what)
			if pid == 0 {
				continue
			}
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				continue // it has ended
			}

			t.Cleanup(func() { unix.Close(fd) })
			if what == "hold" { // it stays when the run has ended
				err := <-ended
				ended <- err
			}
			stopped := unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0) == nil && findImageChild(t, a, what) == pid
			if stopped && (what == "hold" || len(ended) == 0) && endsWithTheAgent(pid) {
				return fd, ended
			}

			// It has just begun: stopped here, it could never ask for its end.
			if err := unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				t.Fatal(err)
			}
		}

		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}

	t.Fatalf("no child of the agent was seen to do %s\n%s", what, a.Log)
	return 0, nil
}

// waitHeld waits until the agent holds all that it wants of the images in use, or none of it.
func waitHeld(t *testing.T, a *harness.Agent, all bool) {
	t.Helper()
	var h api.Health
	for deadline := harness.Patience(); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var err error
		if h, err = a.Health(t.Context()); err != nil {
			t.Fatal(err)
		}
		if h.ImagesWanted > 0 && (all && h.ImagesHeld == h.ImagesWanted || !all && h.ImagesHeld == 0) {
			return
		}
	}
	t.Fatalf("%d bytes are held and %d wanted; all are to be: %v\n%s", h.ImagesHeld, h.ImagesWanted, all, a.Log)
}

// RES-24: when the child that holds an image is killed, health and the log report it, and the image
// is held again while its cells live on. If the child is killed again and again, the agent restarts
// it ever less often.
func TestImageIsHeldAgain(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "1h")
	f, _ := harness.HoldProgram(t, "held")
	r := harness.Program(f)
	r.Limits.Wall = harness.Slowly(120)
	s := a.StartHeldRun(t, r)
	waitHeld(t, a, true)
	last := 0
	for i := range 3 {
		pid := imageChild(t, a, "hold", last)
		began := time.Now()
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if i == 2 { // the longest pause: of a shorter one a busy machine may see nothing
			waitHeld(t, a, false)
		}
		imageChild(t, a, "hold", pid)
		waitHeld(t, a, true)
		// A busy machine makes it longer, never shorter.
		if took, pause := time.Since(began), time.Second<<i; took < pause*9/10 {
			t.Errorf("held again after %v; want a pause of %v", took, pause)
		}
		last = pid
	}

	if n := strings.Count(a.Log.String(), "held in memory again"); n != 3 {
		t.Errorf("the log says %d times that the image is held again; want 3\n%s", n, a.Log)
	}

	s.Release()
}

// The children that read images end with the agent, whatever they are doing: here they are stopped,
// so none of them can notice that the agent is gone.
func TestImageChildrenEndWithTheAgent(t *testing.T) {
	for _, what := range []string{"hold", "copy"} {
		t.Run(what, func(t *testing.T) {
			testenv.NeedRoot(t)
			testenv.CleanHost(t)
			dir, data := harness.PublicDir(t, "brig-e2e-"), harness.PublicDir(t, "brig-data-")
			a := harness.Launch(t, dir, data, "--slots", "1")
			importBulkyImage(t, a, harness.CompileC(t, "done", `int main(void) { return 0; }`))
			ask := api.Run{Image: "bulky", Argv: []string{"/done"}, Limits: api.Limits{Wall: harness.Seconds(20)}}
			if what == "copy" {
				ask.Mode = api.Exclusive
			}

			child, ended := stopImageChild(t, a, what, func() error { _, err := a.Run(t.Context(), ask); return err })
			defer func() { _ = unix.PidfdSendSignal(child, unix.SIGKILL, nil, 0) }() // in case it lives on

			if what == "hold" {
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				ended <- nil
			}

			a.Kill()
			<-ended
			poll := []unix.PollFd{{Fd: int32(child), Events: unix.POLLIN}}
			if n, err := unix.Poll(poll, int(time.Until(harness.Patience()).Milliseconds())); err != nil || n != 1 {
				t.Errorf("imagefiles %s lives on without its agent (%d, %v)", what, n, err)
			}

			cleanUpAfterKill(t, filepath.Join(dir, "run"))
		})
	}
}
