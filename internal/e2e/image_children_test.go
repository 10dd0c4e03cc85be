package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// imageChild waits for a child of the agent, other than one already seen, that works on an image:
// hold or copy.
func imageChild(t *testing.T, a *agent, what string, before int) (pid int) {
	t.Helper()
	for deadline := patience(); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if pid := findImageChild(a, what); pid != 0 && pid != before {
			return pid
		}
	}
	t.Fatalf("no child of the agent does %s\n%s", what, a.log)
	return 0
}

// findImageChild is the child of the agent that does that now, or zero.
func findImageChild(a *agent, what string) (pid int) {
	for _, pid := range descendants(a.cmd.Process.Pid) {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && string(text) == "imagefiles\x00"+what+"\x00" {
			return pid
		}
	}
	return 0
}

// stopImageChild stops a child of the agent that works on the image of a run: it does not end until the test lets it.
// The run goes on, and its end is delivered. On a busy machine a copy may end unseen, and then there is another run.
func (a *agent) stopImageChild(t *testing.T, what string, run func() error) (pidfd int, ended chan error) {
	t.Helper()
	ended = make(chan error, 1)
	for range 20 {
		go func() { ended <- run() }() // joined by the caller, or below
		for len(ended) == 0 {
			pid := findImageChild(a, what)
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
			stopped := unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0) == nil && findImageChild(a, what) == pid
			if stopped && (what == "hold" || len(ended) == 0) {
				return fd, ended
			}
		}

		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}

	t.Fatalf("no child of the agent was seen to do %s\n%s", what, a.log)
	return 0, nil
}

// waitHeld waits until the agent holds all that it wants of the images in use, or none of it.
func (a *agent) waitHeld(t *testing.T, all bool) {
	t.Helper()
	var h api.Health
	for deadline := patience(); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var err error
		if h, err = a.Health(t.Context()); err != nil {
			t.Fatal(err)
		}
		if h.ImagesWanted > 0 && (all && h.ImagesHeld == h.ImagesWanted || !all && h.ImagesHeld == 0) {
			return
		}
	}
	t.Fatalf("%d bytes are held and %d wanted; all are to be: %v\n%s", h.ImagesHeld, h.ImagesWanted, all, a.log)
}

// RES-24: when the child that holds an image is killed, health and the log report it, and the image
// is held again while its cells live on. If the child is killed again and again, the agent restarts
// it ever less often.
func TestImageIsHeldAgain(t *testing.T) {
	a := startAgent(t, "--slots", "1", "--max-wall", "1h")
	f, _ := holdProgram(t, "held")
	r := program(f)
	r.Limits.Wall = slowly(120)
	s := a.startHeldRun(t, r)
	a.waitHeld(t, true)
	last := 0
	for i := range 3 {
		pid := imageChild(t, a, "hold", last)
		began := time.Now()
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if i == 2 { // the longest pause: of a shorter one a busy machine may see nothing
			a.waitHeld(t, false)
		}
		imageChild(t, a, "hold", pid)
		a.waitHeld(t, true)
		// A busy machine makes it longer, never shorter.
		if took, pause := time.Since(began), time.Second<<i; took < pause*9/10 {
			t.Errorf("held again after %v; want a pause of %v", took, pause)
		}
		last = pid
	}

	if n := strings.Count(a.log.String(), "held in memory again"); n != 3 {
		t.Errorf("the log says %d times that the image is held again; want 3\n%s", n, a.log)
	}

	s.release()
}

// The children that read images end with the agent, whatever they are doing: here they are stopped,
// so none of them can notice that the agent is gone.
func TestImageChildrenEndWithTheAgent(t *testing.T) {
	for _, what := range []string{"hold", "copy"} {
		t.Run(what, func(t *testing.T) {
			testenv.NeedRoot(t)
			testenv.CleanHost(t)
			dir, data := publicDir(t, "brig-e2e-"), publicDir(t, "brig-data-")
			a := launch(t, dir, data, "--slots", "1")
			importBulkyImage(t, a, compileC(t, "done", `int main(void) { return 0; }`))
			ask := api.Run{Image: "bulky", Argv: []string{"/done"}, Limits: api.Limits{Wall: seconds(20)}}
			if what == "copy" {
				ask.Mode = api.Exclusive
			}

			child, ended := a.stopImageChild(t, what, func() error { _, err := a.Run(t.Context(), ask); return err })
			defer func() { _ = unix.PidfdSendSignal(child, unix.SIGKILL, nil, 0) }() // in case it lives on

			if what == "hold" {
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				ended <- nil
			}

			a.kill()
			<-ended
			poll := []unix.PollFd{{Fd: int32(child), Events: unix.POLLIN}}
			if n, err := unix.Poll(poll, int(time.Until(patience()).Milliseconds())); err != nil || n != 1 {
				t.Errorf("imagefiles %s lives on without its agent (%d, %v)", what, n, err)
			}

			cleanUpAfterKill(t, filepath.Join(dir, "run"))
		})
	}
}
