package cgroups

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func polled(t testing.TB, l *Leaf, wait time.Duration) bool {
	t.Helper()
	f, events := l.OOMEvent()
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: events}}
	_, err := unix.Poll(fds, int(wait.Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) {
		t.Fatal(err)
	}
	return fds[0].Revents&events != 0
}

const hog = `exec python3 -c 'x = bytearray(64 << 20)'`

func TestMemoryLimitKillsAndIsSeen(t *testing.T) {
	l := newLeaf(t)
	apply(t, l, Limits{MemoryBytes: 16 * mib, Pids: 10})
	if err := l.DrainOOM(); err != nil {
		t.Fatal(err)
	}
	if polled(t, l, 0) {
		t.Error("an OOM event before anything ran")
	}

	cmd := start(t, l, hog)
	if !polled(t, l, time.Minute) {
		t.Error("no OOM event")
	}

	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the hog ended with %v; want SIGKILL", err)
	}

	eventuallyEmpty(t, l)
	u := usage(t, l)
	if u.OOMKills == 0 || u.LimitHits == 0 {
		t.Errorf("%d OOM kills, %d limit hits; want some of both", u.OOMKills, u.LimitHits)
	}
	if got := u.MemoryPeak + u.MemoryBase; got > 16*mib || got < 15*mib {
		t.Errorf("peak %d; want almost 16 MiB", got)
	}

	t.Logf("usage %+v", u)

	if !l.Reusable() {
		return // no next run in this leaf
	}

	apply(t, l, Limits{MemoryBytes: 64 * mib, Pids: 10})
	if err := start(t, l, "exec true").Wait(); err != nil {
		t.Fatal(err)
	}

	eventuallyEmpty(t, l)
	u = usage(t, l)
	if u.OOMKills != 0 || u.LimitHits != 0 {
		t.Errorf("the next run inherits %d OOM kills, %d limit hits", u.OOMKills, u.LimitHits)
	}
	if u.MemoryPeak > 8*mib {
		t.Errorf("the next run inherits the peak: %d", u.MemoryPeak)
	}
	if u.PidsPeakKnown {
		t.Error("pids.peak of a second run cannot be known")
	}
}

func TestOOMKillsAllProcessesOfTheGroup(t *testing.T) {
	l := newLeaf(t)
	if !l.cell.tree.layout.Unified {
		t.Skip("needs cgroup v2") // version 1 has no memory.oom.group
	}

	apply(t, l, Limits{MemoryBytes: 16 * mib, Pids: 10})
	cmd := start(t, l, "sleep 100 & python3 -c 'x = bytearray(64 << 20)'; exit 0")
	if err := cmd.Wait(); err == nil {
		t.Error("the shell outlived its group")
	}

	eventuallyEmpty(t, l)
	if u := usage(t, l); u.OOMKills < 2 {
		t.Errorf("%d OOM kills; want every process", u.OOMKills)
	}
}

// Page cache left by the previous run must not prevent a smaller limit.
func TestLimitCanShrinkBelowWhatTheLastRunCached(t *testing.T) {
	l := newLeaf(t)
	dir, err := os.MkdirTemp("/var/tmp", "brig-test-") // /tmp may be memory, which nothing can reclaim
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)

	file := filepath.Join(dir, "big")
	apply(t, l, Limits{MemoryBytes: 128 * mib, Pids: 10})
	cmd := start(t, l, "exec dd if=/dev/zero bs=1M count=32 conv=fsync of="+file+" 2>/dev/null")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}

	eventuallyEmpty(t, l)
	before, err := l.Current()
	if err != nil {
		t.Fatal(err)
	}
	if before < 16*mib {
		t.Skip("the page cache of /var/tmp is not charged here") // a hostfs
	}
	if n, err := l.Anonymous(); err != nil || n > mib {
		t.Errorf("%d bytes of an ended process, %v, of %d that are charged", n, err, before)
	}
	if err := l.Apply(Limits{MemoryBytes: 8 * mib, Pids: 10}); err != nil {
		t.Fatal(err)
	}

	after, err := l.Current()
	if err != nil || after > 8*mib {
		t.Errorf("%d bytes charged, %v; want at most 8 MiB", after, err)
	}

	t.Logf("charged %d, then %d", before, after)
}
