package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/procfs"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// AGT-09: when memory runs out above the runs, the kernel kills a run and not the agent, whatever
// their sizes. A cell's processes ask to be killed first; without that they would inherit what the
// agent's unit gives it (OOMScoreAdjust=, see docs/operate/install.md), and they cannot lower the value.
func TestHostileAgentOutlivesItsRuns(t *testing.T) {
	testenv.NeedRoot(t)
	data, dir := harness.DataDir(t), harness.PublicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	group := harness.MemoryGroup(t, 200<<20)
	a := harness.LaunchAfter(t, dir, data, func(pid int) {
		harness.Join(t, group, pid)
		err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("-900"), 0)
		if err != nil && !errors.Is(err, unix.EACCES) { // root on this machine may lack CAP_SYS_RESOURCE
			t.Error(err)
		}
	}, "--slots", "4", "--memory", "4G")

	t.Cleanup(a.Stop)
	agent := a.Cmd.Process.Pid
	lower := harness.CompileC(t, fmt.Sprintf("lower-%d", os.Getpid()), `#include <fcntl.h>
#include <unistd.h>
int main(void) { for (int i = 0; i < 2; i++) { int f = open("/proc/self/oom_score_adj", O_WRONLY); if (f >= 0) write(f, i ? "-900" : "0", i ? 4 : 1); } write(1, "tried", 5); char b; while (read(0, &b, 1) > 0); return 0; }`)
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		r := harness.Program(lower)
		r.Mode = mode
		s := a.StartHeldRun(t, r)
		defer s.Release()
		if own := oomScoreAdj(t, agent); own > 0 {
			t.Errorf("the agent's score is adjusted by %d: the test proves nothing", own)
		}
		for up := s.Pid; up != agent; up = parent(t, up) {
			if its := oomScoreAdj(t, up); its < 500 {
				t.Errorf("process %d of a run has its score adjusted by %d; want it to be taken long before the agent", up, its)
			}
		}
	})

	var short atomic.Int64
	var wg sync.WaitGroup
	hog := harness.CompileC(t, "hog", `#include <string.h>
#include <stdlib.h>
int main(void) { size_t n = 100 << 20; char *p = malloc(n); memset(p, 1, n); return p[n-1] != 1; }`)
	for range 4 {
		wg.Go(func() {
			for range 3 {
				r := harness.Program(hog)
				r.Limits = api.Limits{Memory: 512 * api.MiB}
				res, err := a.Run(t.Context(), r)
				var e *api.Error
				switch {
				case err == nil && res.Verdict == api.OK:
				case errors.As(err, &e) && e.RetrySafe:
					if e.Code == api.CodeHostMemory {
						short.Add(1)
					}
				default:
					t.Errorf("run: %s, %v; want ok, or an error that is retry-safe", res.Verdict, err)
				}
			}
		})
	}

	wg.Wait()
	if short.Load() == 0 {
		t.Error("no run was ended for want of memory above it: there was no shortage")
	}

	harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
}

// oomScoreAdj is the oom_score_adj of a process.
func oomScoreAdj(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// parent returns the parent of a process.
func parent(t *testing.T, pid int) int {
	t.Helper()
	s, err := procfs.ReadStat(strconv.Itoa(pid))
	if err != nil || s.Parent <= 1 {
		t.Fatalf("parent of %d: %d, %v", pid, s.Parent, err)
	}
	return s.Parent
}

// AGT-13: a mount of the agent's that another process keeps busy delays nothing: cells are created
// and destroyed, and the agent stops, as usual. The control: umount by name reports that the mount
// is busy.
func TestHostileBusyMountDelaysNothing(t *testing.T) {
	nsenter := testenv.NeedTool(t, "nsenter", "util-linux")
	a := harness.StartAgent(t, "--slots", "1")
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		r := harness.Sh("exit 0")
		r.Mode = mode
		harness.WantVerdict(t, a.MustRun(t, r), api.OK)
		var held []*os.File
		for deadline := harness.Patience(); len(held) == 0; time.Sleep(5 * time.Millisecond) {
			roots, err := filepath.Glob(fmt.Sprintf("/proc/%d/root%s/run/*/mnt/cells/*/root", a.Cmd.Process.Pid, a.Dir))
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("no cell has a root: %v", err)
			}
			for _, root := range roots {
				if f, err := os.Open(filepath.Join(root, "bin")); err == nil { // of a cell that exists by now
					held = append(held, f)
				}
			}
		}
		defer func() {
			for _, f := range held {
				f.Close()
			}
		}()

		inside := strings.TrimPrefix(filepath.Dir(held[0].Name()), fmt.Sprintf("/proc/%d/root", a.Cmd.Process.Pid))
		out, err := exec.Command(nsenter, "--mount", "--target", strconv.Itoa(a.Cmd.Process.Pid), "umount", inside).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "busy") {
			t.Errorf("umount of what is held: %v, %s; the test proves nothing", err, out)
		}

		for range 3 {
			r.Mode = api.Fresh // needs a new cell each time
			harness.WantVerdict(t, a.MustRun(t, r), api.OK)
		}

		if strings.Contains(a.Log.String(), "not completely destroyed") {
			t.Errorf("a cell is left:\n%s", a.Log)
		}
	})
}

// AGT-15: an agent that is moved to another group creates no cells there, because the limits there
// are not its own. It reports this, and continues when it is moved back. The limits of the cells
// that it has hold all the while.
func TestHostileMoveOfTheAgentIsReported(t *testing.T) {
	a := harness.StartParallelAgent(t, "--slots", "1")
	harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
	pid := a.Cmd.Process.Pid
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}

	elsewhere := harness.MemoryGroup(t, 1<<30)
	home := elsewhere.Home(string(table))
	harness.Join(t, elsewhere, pid)
	defer func() {
		if t.Failed() {
			harness.Join(t, home, pid)
		}
	}()

	over := harness.Sh("head -c 50000000 /dev/zero | tail -c 40000000 >/dev/null")
	over.Limits.Memory = 16 * api.MiB
	harness.WantVerdict(t, a.MustRun(t, over), api.MemoryLimit)
	fresh := harness.Sh("exit 0")
	fresh.Mode = api.Fresh
	for range 3 {
		if e := a.Refused(t, fresh, api.CodeInternal); !strings.Contains(e.Message, "moved") || !strings.Contains(e.Message, "restart") {
			t.Errorf("message %q says neither what happened nor what to do", e.Message)
		}
	}

	harness.WantVerdict(t, a.MustRun(t, over), api.MemoryLimit)
	harness.Join(t, home, pid)
	harness.WantVerdict(t, a.MustRun(t, fresh), api.OK)
	harness.WantVerdict(t, a.MustRun(t, over), api.MemoryLimit)
}

// AGT-20: however many cells are requested at once, only a few are built concurrently, so the
// copies of the runtime that build them need no more memory than a few.
func TestHostileManyStartsAtOnce(t *testing.T) {
	n := 40 // three times as many as the copies of the runtime that there may be on two processors
	if harness.Long() {
		n = 100
	}
	n = max(20, int(time.Duration(n)*time.Second/harness.Slow(time.Second))) // a machine in software emulation would take minutes
	a := harness.StartAgent(t, "--slots", strconv.Itoa(n), "--memory", "4G")
	agent := a.Cmd.Process.Pid
	stop, watched := make(chan struct{}), make(chan int)
	go func() { // joined below
		maximum := 0
		for {
			select {
			case <-stop:
				watched <- maximum
				return
			case <-time.After(40 * time.Millisecond): // each look is at all processes of the host
				maximum = max(maximum, len(brigdProcesses(agent)))
			}
		}
	}()

	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			r := harness.Sh(fmt.Sprintf("echo %d", i))
			r.Mode, r.Limits = api.Fresh, api.Limits{Memory: 16 * api.MiB, Output: api.MiB}
			res, err := a.Run(t.Context(), r)
			if err != nil || res.Verdict != api.OK || string(res.Stdout) != fmt.Sprintln(i) {
				t.Errorf("run %d: %s, %q, %v", i, res.Verdict, res.Stdout, err)
			}
		})
	}

	wg.Wait()
	close(stop)
	maximum := <-watched

	// A build may briefly have two copies, when one forks the other.
	if bound := 3 * 2 * runtime.NumCPU(); maximum == 0 || maximum > bound {
		t.Errorf("%d copies of the runtime at once; want some, and at most %d", maximum, bound)
	}

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", agent))
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); f[0] == "VmHWM:" {
			if kib, err := strconv.Atoi(f[1]); err != nil || kib > 128<<10 {
				t.Errorf("the agent needed %s", line)
			}
		}
	}

	if h, err := a.Health(t.Context()); err != nil || h.Leased != 0 || h.Memory != 0 {
		t.Errorf("after all runs: %+v, %v", h, err)
	}
}

// brigdProcesses lists the processes below the agent that still execute its own binary. Agents of tests that run beside
// this one execute the same binary, and are not meant.
func brigdProcesses(agent int) []int {
	var own, st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/exe", agent), &own); err != nil {
		return nil
	}
	all, err := procfs.Processes()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(procfs.Descendants(all, agent), func(pid int) bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !strings.HasSuffix(string(text), "\x00init\x00") {
			return true
		}
		return unix.Stat(fmt.Sprintf("/proc/%d/exe", pid), &st) != nil || st.Size != own.Size
	})
}
