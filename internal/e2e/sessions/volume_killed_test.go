package sessions

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// counting writes numbers to /workspace/n, and prints each when it is on disk.
const counting = `#include <stdio.h>
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv) {
	for (int i = 1;; i++) {
		char text[32];
		int len = sprintf(text, "%d\n", i), fd = open("/workspace/new", O_CREAT | O_TRUNC | O_WRONLY, 0644);
		if (write(fd, text, len) != len || fsync(fd) || close(fd) || rename("/workspace/new", "/workspace/n")) return 1;
		int dir = open("/workspace", O_RDONLY | O_DIRECTORY);
		if (fsync(dir) || close(dir)) return 2;
		if (write(1, text, len) != len) return 3;
		if (argc > 1 && i == 50) pause();
	}
}`

// A lastLine keeps the last complete line.
type lastLine struct {
	mu   sync.Mutex
	rest []byte // guarded by mu
	last int    // guarded by mu
}

func (l *lastLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.last, _ = strconv.Atoi(string(line))
		l.rest = rest
	}
}

func (l *lastLine) number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// startCounter runs a counter in a session, and returns when it has printed at least minimum.
func startCounter(t testing.TB, a *harness.Agent, id string, minimum int, args ...string) (printed *lastLine, ended <-chan struct{}) {
	t.Helper()
	probe := harness.CompileC(t, "counter", counting)
	if err := a.PutFile(t.Context(), id, "counter", bytes.NewReader(probe.Content), true); err != nil {
		t.Fatal(err)
	}

	printed = new(lastLine)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = a.ExecStream(t.Context(), id, api.Exec{Argv: append([]string{"./counter"}, args...)}, nil, printed, io.Discard)
	}()
	for deadline := harness.Patience(); printed.number() < minimum; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the counter is %d\n%s", printed.number(), a.Log)
		}
	}

	return printed, done
}

// wantCleanFileSystem demands that the file system of a volume that is not in use has no errors.
func wantCleanFileSystem(t testing.TB, a *harness.Agent, uid, base string) {
	t.Helper()
	testenv.NeedTool(t, "e2fsck", "e2fsprogs")
	out, err := exec.Command("e2fsck", "-fn", filepath.Join(a.Dir, "volumes", uid, base)).CombinedOutput()
	if err != nil {
		t.Errorf("e2fsck %s: %v\n%s", base, err, out)
	}
}

// What a program knows to be on disk is there after a SIGKILL of brigd during a write, however soon
// it is requested from the next agent; and only the file is left: no mount, no loop device, no
// lock.
func TestVolumeOutlivesAKilledAgent(t *testing.T) {
	testenv.NeedRoot(t)
	testenv.NeedTool(t, "mkfs.ext4", "e2fsprogs")
	dir := harness.PublicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	a := harness.Launch(t, dir, harness.DataDir(t))
	last := 0
	for range harness.Rounds(5) {
		s := volumeSession(t, a, "v", nil)
		printed, ended := startCounter(t, a, s.ID, 20)
		a.Kill()
		<-ended
		last = printed.number()
		a = harness.Launch(t, dir, harness.DataDir(t))
		s = volumeSession(t, a, "v", nil) // while the dead agent's cell may still be ending
		n, err := strconv.Atoi(strings.TrimSpace(string(a.Shell(t, s.ID, "cat /workspace/n").Stdout)))
		if err != nil || n < last {
			t.Errorf("%d, %v; want at least %d, which was on disk", n, err, last)
		}

		endSession(t, a, s.ID)
		noLoops(t, a)
		wantCleanFileSystem(t, a, "0", "v.ext4")
	}

	a.Stop()
}

// A copy of the file that is made during writes simulates a crash of the host: the journal is
// replayed, and what was on disk is there.
func TestVolumeReplaysItsJournal(t *testing.T) {
	a := harness.VolumeAgent(t)
	s := volumeSession(t, a, "v", nil)
	printed, _ := startCounter(t, a, s.ID, 50, "pause")
	a.WantOutput(t, s.ID, "echo never synced >/workspace/late", "")
	at := filepath.Join(a.Dir, "volumes", "0")
	if out, err := exec.Command("cp", filepath.Join(at, "v.ext4"), filepath.Join(at, "crash.ext4")).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v %s", err, out)
	}

	out, err := exec.Command("dumpe2fs", "-h", filepath.Join(at, "crash.ext4")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "needs_recovery") {
		t.Errorf("the copy needs no recovery: %v\n%s", err, out)
	}

	c := volumeSession(t, a, "crash", nil)
	a.WantOutput(t, c.ID, "cat /workspace/n", strconv.Itoa(printed.number())+"\n")
	endSession(t, a, c.ID)
	wantCleanFileSystem(t, a, "0", "crash.ext4")
	endSession(t, a, s.ID)
	wantCleanFileSystem(t, a, "0", "v.ext4")
}

// Two agents on one directory, which is not supported, never mount one file system twice: the
// second waits a while and refuses, until the first has released it or is killed.
func TestVolumeOfTwoAgents(t *testing.T) {
	testenv.NeedTool(t, "mkfs.ext4", "e2fsprogs")
	harness.ParallelTest(t)
	one, two := harness.PublicDir(t, "brig-e2e-"), harness.PublicDir(t, "brig-e2e-")
	a := harness.Launch(t, one, harness.DataDir(t))
	b := harness.Launch(t, two, harness.DataDir(t), "--volumes", filepath.Join(one, "volumes"))
	s := volumeSession(t, a, "v", smallest)
	a.WantOutput(t, s.ID, "echo one >/workspace/f", "")
	var asking sync.WaitGroup
	for _, how := range []func(*api.VolumeRequest){nil,
		func(v *api.VolumeRequest) { v.Shared = true }, func(v *api.VolumeRequest) { v.ReadOnly = true }} {
		asking.Go(func() { refusedVolumeSession(t, b, "v", how, api.CodeConflict) })
	}

	asking.Wait()
	harness.WantCode(t, b.DeleteVolume(t.Context(), "v"), api.CodeConflict)
	if n := len(loops(t, one)); n != 1 {
		t.Errorf("%d loop devices; want one", n)
	}

	endSession(t, a, s.ID)
	s = volumeSession(t, b, "v", nil)
	b.WantOutput(t, s.ID, "cat /workspace/f; echo two >/workspace/f; sync", "one\n")
	refusedVolumeSession(t, a, "v", nil, api.CodeConflict)
	b.Kill()
	s = volumeSession(t, a, "v", nil)
	a.WantOutput(t, s.ID, "cat /workspace/f", "two\n")
	endSession(t, a, s.ID)

	// Both create the same volume at once: one of them gets it.
	b = harness.Launch(t, two, harness.DataDir(t), "--volumes", filepath.Join(one, "volumes"))
	var wg sync.WaitGroup
	made := make(chan error, 8)
	for i := range 8 {
		wg.Go(func() {
			ask := api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 32 * api.MiB, Scratch: api.MiB}}
			withVolume("w", smallest)(&ask)
			_, err := []*harness.Agent{a, b}[i%2].CreateSession(t.Context(), ask)
			made <- err
		})
	}

	wg.Wait()
	close(made)
	well := 0
	for err := range made {
		if err == nil {
			well++
		} else {
			harness.WantCode(t, err, api.CodeConflict)
		}
	}

	if well != 1 {
		t.Errorf("%d sessions have it to write; want one", well)
	}

	b.Stop()
	a.Stop()
	if left := loops(t, one); len(left) != 0 {
		t.Errorf("loop devices left: %q", left)
	}
	if left, err := filepath.Glob(filepath.Join(one, "volumes", "0", ".new*")); err != nil || len(left) != 0 {
		t.Errorf("left half made: %q, %v", left, err)
	}
	if err := os.RemoveAll(filepath.Join(one, "volumes")); err != nil {
		t.Error(err)
	}
}
