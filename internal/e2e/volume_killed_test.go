package e2e

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
func (a *agent) startCounter(t testing.TB, id string, minimum int, args ...string) (printed *lastLine, ended <-chan struct{}) {
	t.Helper()
	probe := compileC(t, "counter", counting)
	if err := a.PutFile(t.Context(), id, "counter", bytes.NewReader(probe.Content), true); err != nil {
		t.Fatal(err)
	}

	printed = new(lastLine)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = a.ExecStream(t.Context(), id, api.Exec{Argv: append([]string{"./counter"}, args...)}, nil, printed, io.Discard)
	}()
	for deadline := patience(); printed.number() < minimum; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the counter is %d\n%s", printed.number(), a.log)
		}
	}

	return printed, done
}

// wantCleanFileSystem demands that the file system of a volume that is not in use has no errors.
func (a *agent) wantCleanFileSystem(t testing.TB, uid, base string) {
	t.Helper()
	testenv.NeedTool(t, "e2fsck", "e2fsprogs")
	out, err := exec.Command("e2fsck", "-fn", filepath.Join(a.dir, "volumes", uid, base)).CombinedOutput()
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
	dir := publicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	a := launch(t, dir, dataDir(t))
	last := 0
	for range rounds(5) {
		s := a.volumeSession(t, "v", nil)
		printed, ended := a.startCounter(t, s.ID, 20)
		a.kill()
		<-ended
		last = printed.number()
		a = launch(t, dir, dataDir(t))
		s = a.volumeSession(t, "v", nil) // while the dead agent's cell may still be ending
		n, err := strconv.Atoi(strings.TrimSpace(string(a.exec(t, s.ID, "cat /workspace/n").Stdout)))
		if err != nil || n < last {
			t.Errorf("%d, %v; want at least %d, which was on disk", n, err, last)
		}

		a.endSession(t, s.ID)
		a.noLoops(t)
		a.wantCleanFileSystem(t, "0", "v.ext4")
	}

	a.stop()
}

// A copy of the file that is made during writes simulates a crash of the host: the journal is
// replayed, and what was on disk is there.
func TestVolumeReplaysItsJournal(t *testing.T) {
	a := volumeAgent(t)
	s := a.volumeSession(t, "v", nil)
	printed, _ := a.startCounter(t, s.ID, 50, "pause")
	a.wantOutput(t, s.ID, "echo never synced >/workspace/late", "")
	at := filepath.Join(a.dir, "volumes", "0")
	if out, err := exec.Command("cp", filepath.Join(at, "v.ext4"), filepath.Join(at, "crash.ext4")).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v %s", err, out)
	}

	out, err := exec.Command("dumpe2fs", "-h", filepath.Join(at, "crash.ext4")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "needs_recovery") {
		t.Errorf("the copy needs no recovery: %v\n%s", err, out)
	}

	c := a.volumeSession(t, "crash", nil)
	a.wantOutput(t, c.ID, "cat /workspace/n", strconv.Itoa(printed.number())+"\n")
	a.endSession(t, c.ID)
	a.wantCleanFileSystem(t, "0", "crash.ext4")
	a.endSession(t, s.ID)
	a.wantCleanFileSystem(t, "0", "v.ext4")
}

// Two agents on one directory, which is not supported, never mount one file system twice: the
// second waits a while and refuses, until the first has released it or is killed.
func TestVolumeOfTwoAgents(t *testing.T) {
	testenv.NeedTool(t, "mkfs.ext4", "e2fsprogs")
	parallelTest(t)
	one, two := publicDir(t, "brig-e2e-"), publicDir(t, "brig-e2e-")
	a := launch(t, one, dataDir(t))
	b := launch(t, two, dataDir(t), "--volumes", filepath.Join(one, "volumes"))
	s := a.volumeSession(t, "v", smallest)
	a.wantOutput(t, s.ID, "echo one >/workspace/f", "")
	var asking sync.WaitGroup
	for _, how := range []func(*api.VolumeRequest){nil,
		func(v *api.VolumeRequest) { v.Shared = true }, func(v *api.VolumeRequest) { v.ReadOnly = true }} {
		asking.Go(func() { b.refusedVolumeSession(t, "v", how, api.CodeConflict) })
	}

	asking.Wait()
	wantCode(t, b.DeleteVolume(t.Context(), "v"), api.CodeConflict)
	if n := len(loops(t, one)); n != 1 {
		t.Errorf("%d loop devices; want one", n)
	}

	a.endSession(t, s.ID)
	s = b.volumeSession(t, "v", nil)
	b.wantOutput(t, s.ID, "cat /workspace/f; echo two >/workspace/f; sync", "one\n")
	a.refusedVolumeSession(t, "v", nil, api.CodeConflict)
	b.kill()
	s = a.volumeSession(t, "v", nil)
	a.wantOutput(t, s.ID, "cat /workspace/f", "two\n")
	a.endSession(t, s.ID)

	// Both create the same volume at once: one of them gets it.
	b = launch(t, two, dataDir(t), "--volumes", filepath.Join(one, "volumes"))
	var wg sync.WaitGroup
	made := make(chan error, 8)
	for i := range 8 {
		wg.Go(func() {
			ask := api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 32 * api.MiB, Scratch: api.MiB}}
			withVolume("w", smallest)(&ask)
			_, err := []*agent{a, b}[i%2].CreateSession(t.Context(), ask)
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
			wantCode(t, err, api.CodeConflict)
		}
	}

	if well != 1 {
		t.Errorf("%d sessions have it to write; want one", well)
	}

	b.stop()
	a.stop()
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
