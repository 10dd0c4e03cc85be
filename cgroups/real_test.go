package cgroups

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func mkdirAll(p string) error { return os.MkdirAll(p, 0o755) }

// need skips on a machine that cannot run privileged tests, and fails where they
// must run (BRIG_TEST_MUST=1).
func need(t testing.TB, ok bool, what string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("BRIG_TEST_MUST") == "1" {
		t.Fatalf("this test must run here and needs %s", what)
	}
	t.Skipf("needs %s", what)
}

// newTree makes a tree on the real host and checks that nothing of it stays.
func newTree(t testing.TB) (*Tree, []string) {
	t.Helper()
	need(t, os.Geteuid() == 0, "root")
	h, err := Probe()
	if err != nil {
		need(t, false, err.Error())
	}
	return newTreeOn(t, h)
}

func newTreeOn(t testing.TB, h *Host) (*Tree, []string) {
	t.Helper()
	if err := h.Check(); err != nil {
		need(t, false, err.Error())
	}
	before, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	instance := "test-" + strconv.Itoa(os.Getpid())
	var recorded []string
	tree, err := Create(h, instance, func(p string) error {
		if exists(p) {
			t.Errorf("%s was made before it was recorded", p)
		}
		recorded = append(recorded, p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Remove(); err != nil {
			t.Error(err)
		}
		for _, hy := range h.Hierarchies {
			err := filepath.WalkDir(hy.Mount, func(p string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() && d.Name() == prefix+instance {
					t.Errorf("left behind: %s", p)
				}
				return nil // groups of others come and go while we walk
			})
			if err != nil {
				t.Error(err)
			}
		}
		if after, err := os.ReadFile("/proc/self/cgroup"); err != nil || string(after) != string(before) {
			t.Errorf("own groups were\n%s, now\n%s (%v)", before, after, err)
		}
	})
	return tree, recorded
}

func newLeaf(t testing.TB) *Leaf {
	t.Helper()
	tree, _ := newTree(t)
	return newLeafIn(t, tree)
}

func newLeafIn(t testing.TB, tree *Tree) *Leaf {
	t.Helper()
	cell, err := tree.Cell("c0", 0)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := cell.NewLeaf("r0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := leaf.Remove(); err != nil {
			t.Error(err)
		}
	})
	return leaf
}

// start runs a shell script inside the leaf: born there on cgroup2, joined by
// writing 0 to tasks on version 1.
func start(t testing.TB, l *Leaf, script string) *exec.Cmd {
	t.Helper()
	var join strings.Builder
	files := l.JoinFiles()
	for i := range files {
		n := strconv.Itoa(3 + i)
		join.WriteString("echo 0 >&" + n + " || exit 99; exec " + n + ">&-; ")
	}
	cmd := exec.Command("/bin/sh", "-c", join.String()+script)
	cmd.ExtraFiles = files
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	if l.Dir() != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(l.Dir().Fd())}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func apply(t testing.TB, l *Leaf, want Limits) {
	t.Helper()
	if err := l.Apply(want); err != nil {
		t.Fatal(err)
	}
	if err := l.Begin(); err != nil {
		t.Fatal(err)
	}
}

func usage(t testing.TB, l *Leaf) Usage {
	t.Helper()
	u, err := l.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// eventually waits for the leaf to be empty.
func eventuallyEmpty(t testing.TB, l *Leaf) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		empty, err := l.Empty()
		if err != nil {
			t.Fatal(err)
		}
		if empty {
			return
		}
		if time.Now().After(end) {
			t.Fatal("processes are left in the leaf")
		}
	}
}

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
	if !polled(t, l, 20*time.Second) {
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
		t.Skip("this kernel cannot reset memory.peak: nothing to reuse")
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
	need(t, l.cell.tree.layout.Unified, "cgroup v2")
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

func TestPidsLimitIsCounted(t *testing.T) {
	l := newLeaf(t)
	apply(t, l, Limits{MemoryBytes: 64 * mib, Pids: 4})
	cmd := start(t, l, `exec python3 -c '
import os, time
n = 0
try:
    while n < 50:
        if os.fork() == 0:
            time.sleep(60); os._exit(0)
        n += 1
except OSError:
    os._exit(n)
'`)
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the forker ended with %v; want 3 children", err)
	}
	u := usage(t, l)
	if u.PidsHits != 1 {
		t.Errorf("%d forks refused; want 1", u.PidsHits)
	}
	if u.PidsPeakKnown && u.PidsPeak != 4 {
		t.Errorf("pids peak %d; want 4", u.PidsPeak)
	}
	if empty, err := l.Empty(); err != nil || empty {
		t.Errorf("Empty = %v, %v with three sleepers inside", empty, err)
	}
	if err := l.Kill(); err != nil {
		t.Fatal(err)
	}
	eventuallyEmpty(t, l)
}

func TestCPUTimeStartsAtZeroForEachRun(t *testing.T) {
	l := newLeaf(t)
	apply(t, l, Limits{MemoryBytes: 64 * mib, Pids: 10, CPUs: 1})
	spin := `exec python3 -c 'import time
while time.process_time() < 0.3: pass'`
	if err := start(t, l, spin).Wait(); err != nil {
		t.Fatal(err)
	}
	eventuallyEmpty(t, l)
	u := usage(t, l)
	if u.CPU < 250*time.Millisecond || u.CPU > 5*time.Second { // joining is not counted, so a little less is right
		t.Errorf("cpu %v; want about 300ms", u.CPU)
	}
	if now, err := l.CPUTime(); err != nil || now != u.CPU {
		t.Errorf("CPUTime = %v, %v; want %v", now, err, u.CPU)
	}
	if sum := u.User + u.System; u.SplitKnown && (sum < u.CPU/2 || sum > 2*u.CPU) {
		t.Errorf("user %v and system %v for %v", u.User, u.System, u.CPU)
	}
	t.Logf("usage %+v", u)
	if !l.Reusable() {
		if err := l.Begin(); !errors.Is(err, ErrUnsupported) {
			t.Errorf("second Begin = %v; want ErrUnsupported", err)
		}
		return
	}
	if err := l.Begin(); err != nil {
		t.Fatal(err)
	}
	if u := usage(t, l); u.CPU != 0 || u.User != 0 {
		t.Errorf("a run that did nothing used %v", u.CPU)
	}
}

func TestLimitsReachTheKernelUpAndDown(t *testing.T) {
	l := newLeaf(t)
	steps := []Limits{
		{MemoryBytes: 64 * mib, Pids: 100, CPUs: 1, Weight: 1024},
		{MemoryBytes: 16 * mib, Pids: 10, CPUs: 0.5, Weight: 512},
		{MemoryBytes: 128 * mib, Pids: 200, CPUs: 2, Weight: 2048},
		{},
		{MemoryBytes: 4 * mib, Pids: 1},
	}
	if _, err := l.cell.tree.host.Controller("cpuset"); err == nil {
		steps = append(steps, Limits{MemoryBytes: 4 * mib, Cpuset: "0"}, Limits{})
	} else if err := l.Apply(Limits{Cpuset: "0"}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("cpuset without its controller = %v; want ErrUnsupported", err)
	}
	for _, want := range steps {
		if err := l.Apply(want); err != nil {
			t.Fatalf("Apply(%+v): %v", want, err)
		}
		for _, w := range Plan(l.cell.tree.layout, Limits{MemoryBytes: 1, SwapBytes: 1, CPUs: 3, Weight: 7, Pids: 12345, Cpuset: "x"}, want) {
			f := l.ctl[w.File]
			if f == nil {
				continue
			}
			b, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimSpace(string(b))
			if strings.HasPrefix(w.File, "memory.") && w.Value == "-1" {
				w.Value = "9223372036854771712"
			}
			if got != w.Value {
				t.Errorf("%s holds %q; want %q after %+v", w.File, got, w.Value, want)
			}
		}
	}
}

func TestKillEndsAForest(t *testing.T) { killForest(t, newLeaf(t)) }

// A hybrid host without its cgroup2 is a version 1 host: no cgroup.kill, no
// cgroup.events, no birth inside the group.
func TestKillEndsAForestWithoutCgroup2(t *testing.T) {
	need(t, os.Geteuid() == 0, "root")
	h, err := Probe()
	if err != nil {
		need(t, false, err.Error())
	}
	if h.Mode != Hybrid {
		t.Skip("needs a hybrid host") // a v2 host cannot be made to look like v1
	}
	h.Mode = V1
	h.Hierarchies = slices.DeleteFunc(h.Hierarchies, func(hy Hierarchy) bool { return hy.Unified })
	tree, _ := newTreeOn(t, h)
	l := newLeafIn(t, tree)
	if l.Dir() != nil || usage(t, l).SplitKnown {
		t.Error("cgroup2 is still in use")
	}
	killForest(t, l)
	apply(t, l, Limits{MemoryBytes: 64 * mib, Pids: 50})
	if err := start(t, l, "true & wait").Wait(); err != nil {
		t.Errorf("forks are still forbidden to the next run: %v", err)
	}
}

func killForest(t *testing.T, l *Leaf) {
	t.Helper()
	apply(t, l, Limits{MemoryBytes: 64 * mib, Pids: 50})
	cmd := start(t, l, "for i in 1 2 3 4 5 6 7 8 9; do (setsid sleep 100 &) ; done; exec sleep 100")
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if n, err := readInt(l.pids); err != nil || time.Now().After(end) {
			t.Fatalf("%d processes, %v; want 10", n, err)
		} else if n == 10 {
			break
		}
	}
	if err := l.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the shell lived on")
	}
	eventuallyEmpty(t, l)
}

func TestSweepRemovesWhatADeadAgentLeft(t *testing.T) {
	tree, recorded := newTree(t)
	for _, p := range tree.Paths() {
		if !slices.Contains(recorded, p) {
			t.Errorf("%s was not recorded", p)
		}
	}
	cell, err := tree.Cell("c0", 4242)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := cell.NewLeaf("r0")
	if err != nil {
		t.Fatal(err)
	}
	if u, ok := tree.Host().Unified(); ok {
		for _, rel := range []string{"", "r0"} {
			var st unix.Stat_t
			p := filepath.Join(cell.dir(u), rel, "cgroup.procs")
			if err := unix.Stat(p, &st); err != nil || st.Uid != 4242 {
				t.Errorf("%s belongs to %d, %v; want 4242", p, st.Uid, err)
			}
		}
	}
	cmd := start(t, leaf, "setsid sleep 100 & exec sleep 100")
	if err := leaf.Close(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }() // reaps: a zombie would not be gone
	if err := Sweep(tree.Paths()); err != nil {
		t.Fatal(err)
	}
	for _, p := range tree.Paths() {
		if exists(p) {
			t.Errorf("%s is still there", p)
		}
	}
}

// cloneInto is a program that forks straight into the group at descriptor 3
// (clone3 with CLONE_INTO_CGROUP) and exits 0 if the child was born in r0, else
// with the errno.
const cloneInto = `
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
args = struct.pack("11Q", 0x200000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 3)
pid = libc.syscall(435, args, len(args))
if pid < 0:
    os._exit(ctypes.get_errno())
if pid == 0:
    os._exit(0 if "/r0\n" in open("/proc/self/cgroup").read() else 98)
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`

func TestOnlyTheCellsRootMayCloneIntoItsLeaves(t *testing.T) {
	tree, _ := newTree(t)
	need(t, tree.host.Mode != V1, "cgroup2")
	for _, tt := range []struct {
		name  string
		owner int
		want  int
	}{
		{"cell of uid 4242", 4242, 0},
		{"cell of another", 4243, int(unix.EACCES)},
		{"cell of root", 0, int(unix.EACCES)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cell, err := tree.Cell("c"+strconv.Itoa(tt.owner), tt.owner)
			if err != nil {
				t.Fatal(err)
			}
			target, err := cell.NewLeaf("r0")
			if err != nil {
				t.Fatal(err)
			}
			defer target.Remove()
			from, err := cell.NewLeaf("shell")
			if err != nil {
				t.Fatal(err)
			}
			defer from.Remove()
			cmd := exec.Command("/usr/bin/python3", "-c", cloneInto)
			cmd.Dir, cmd.ExtraFiles = "/", []*os.File{target.Dir()}
			cmd.SysProcAttr = &syscall.SysProcAttr{
				UseCgroupFD: true, CgroupFD: int(from.Dir().Fd()),
				Credential: &syscall.Credential{Uid: 4242, Gid: 4242},
			}
			if err := cmd.Run(); cmd.ProcessState == nil {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != tt.want {
				t.Errorf("exit code %d; want %d", got, tt.want)
			}
		})
	}
}

// A page cache left by the run before must not stand in the way of a smaller limit.
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
	if err := l.Apply(Limits{MemoryBytes: 8 * mib, Pids: 10}); err != nil {
		t.Fatal(err)
	}
	after, err := l.Current()
	if err != nil || after > 8*mib {
		t.Errorf("%d bytes charged, %v; want at most 8 MiB", after, err)
	}
	t.Logf("charged %d, then %d", before, after)
}

func TestCreateRefusesATakenName(t *testing.T) {
	tree, _ := newTree(t)
	_, err := Create(tree.Host(), strings.TrimPrefix(tree.name, prefix), func(string) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("second Create = %v; want a refusal", err)
	}
}

func TestCreateStopsWhenNothingCanBeRecorded(t *testing.T) {
	need(t, os.Geteuid() == 0, "root")
	h, err := Probe()
	if err != nil {
		need(t, false, err.Error())
	}
	full := errors.New("disk full")
	if _, err := Create(h, "test-unrecorded", func(string) error { return full }); !errors.Is(err, full) {
		t.Errorf("Create = %v; want %v", err, full)
	}
	for _, hy := range h.Hierarchies {
		if exists(filepath.Join(hy.Own, "brig-test-unrecorded")) {
			t.Errorf("made in %s without a record", hy.Own)
		}
	}
}

func BenchmarkLeaf(b *testing.B) {
	l := newLeaf(b)
	want := Limits{MemoryBytes: 64 * mib, CPUs: 1, Pids: 100}
	apply(b, l, want)
	for _, bm := range []struct {
		name string
		do   func() error
	}{
		{"ApplyUnchanged", func() error { return l.Apply(want) }},
		{"ApplyMemoryChanged", func() error { want.MemoryBytes ^= mib; return l.Apply(want) }},
		{"Begin", func() error {
			if !l.peakReset {
				l.begun = 0
			}
			return l.Begin()
		}},
		{"Usage", func() error { _, err := l.Usage(); return err }},
		{"CPUTime", func() error { _, err := l.CPUTime(); return err }},
		{"Empty", func() error { _, err := l.Empty(); return err }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bm.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
