package cgroups

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

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
			path, ok := l.ctl[w.File]
			if !ok {
				continue
			}

			b, err := os.ReadFile(path)
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

// cloneInto is a program that forks directly into the group at descriptor 3
// (clone3 with CLONE_INTO_CGROUP). It exits with 0 if the child started in r0, with 98
// if the child started elsewhere, and with the errno if the fork failed.
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

func TestNoFeatureOfATreeIsUnknown(t *testing.T) {
	tree, _ := newTree(t)
	f := tree.Features()
	for name, s := range map[string]State{"kill": f.Kill, "peak": f.Peak, "reset": f.PeakReset, "oom.group": f.OOMGroup,
		"swap": f.Swap, "pids.peak": f.PidsPeak, "pids.events": f.PidsEvents, "pressure": f.Pressure, "local": f.LocalEvents} {
		if s != Yes && s != No {
			t.Errorf("%s is %q", name, s)
		}
	}

	again, err := Probe() // now a group exists to look in, even where our own is the root
	if err != nil {
		t.Fatal(err)
	}
	if again.Features.Kill != f.Kill || again.Features.PidsPeak != f.PidsPeak {
		t.Errorf("probe says %+v; the tree has %+v", again.Features, f)
	}
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

// A weight is set where it takes effect, on the cell, and the run in the next leaf does
// not inherit it.
func TestWeightIsTheCells(t *testing.T) {
	one := newLeaf(t)
	two, err := one.cell.NewLeaf("r1")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := two.Remove(); err != nil {
			t.Error(err)
		}
	})

	for i, step := range []struct {
		leaf   *Leaf
		weight int64
	}{{one, 2048}, {two, 0}, {one, 512}, {two, 512}, {one, 1024}} {
		if err := step.leaf.Apply(Limits{Weight: step.weight}); err != nil { // no Begin: some kernels allow one per leaf only
			t.Fatal(err)
		}

		file, want := "cpu.shares", cmp.Or(step.weight, 1024)
		if one.cell.tree.layout.Unified {
			file, want = "cpu.weight", toWeight(step.weight)
		}

		path := step.leaf.ctl[file]
		if got, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(got)) != decimal(want) {
			t.Errorf("step %d: %s holds %q, %v; want %d", i, path, got, err, want)
		}
		if filepath.Base(filepath.Dir(path)) != one.cell.name {
			t.Errorf("the weight is written to %s; want the cell's group", path)
		}
	}
}

// CPU-43: a killed leaf gets the default weight and no quota while its processes exit. Its
// other limits stay, and the next run in the cell gets its own limits. A weight above the
// default is kept.
func TestExpediteLiftsWeightAndQuota(t *testing.T) {
	l := newLeaf(t)
	files := map[string]string{"cpu.shares": "1024", "cpu.cfs_quota_us": "-1", "pids.max": "7"}
	slow := map[string]string{"cpu.shares": "2", "cpu.cfs_quota_us": "10000", "pids.max": "7"}
	if l.cell.tree.layout.Unified {
		files = map[string]string{"cpu.weight": "100", "cpu.max": "max 100000", "pids.max": "7"}
		slow = map[string]string{"cpu.weight": "1", "cpu.max": "10000 100000", "pids.max": "7"}
	}

	holds := func(when string, want map[string]string) {
		t.Helper()
		for file, value := range want {
			if got, err := os.ReadFile(l.ctl[file]); err != nil || strings.TrimSpace(string(got)) != value {
				t.Errorf("%s: %s holds %q, %v; want %q", when, file, got, err, value)
			}
		}
	}

	for range 2 {
		if err := l.Apply(Limits{Weight: 2, CPUs: 0.1, Pids: 7}); err != nil {
			t.Fatal(err)
		}
		holds("applied", slow)
		if err := l.Expedite(); err != nil {
			t.Fatal(err)
		}
		holds("hastened", files)
	}

	if err := errors.Join(l.Apply(Limits{Weight: 2048}), l.Expedite()); err != nil || l.cell.weight != 2048 {
		t.Errorf("a weight of 2048 became %d, %v", l.cell.weight, err)
	}
}
