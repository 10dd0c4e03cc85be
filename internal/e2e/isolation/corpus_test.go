package isolation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// MEM-17: without the memory controller the agent does not start, and says what is missing. An
// empty file system over it, in the agent's own mount namespace, hides the controller.
func TestHostileMissingController(t *testing.T) {
	testenv.NeedRoot(t)
	unshare := testenv.NeedTool(t, "unshare", "util-linux")
	where := harness.MemoryHierarchy(t).Mount
	dir := harness.PublicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	ctx, cancel := context.WithDeadline(t.Context(), harness.Patience())
	defer cancel()

	socket := filepath.Join(dir, "s")
	cmd := exec.CommandContext(ctx, unshare, "--mount", "--propagation", "private", "sh", "-c",
		`mount -t tmpfs none "$0" && exec "$@"`, where,
		harness.Binary(t, "brigd"), "--socket", socket, "--data-dir", harness.DataDir(t), "--run-dir", filepath.Join(dir, "run"))
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if ctx.Err() != nil || err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("brigd without %s: %v; want exit code 1\n%s", where, err, &said)
	}
	if !strings.Contains(said.String(), "cgroup") || !strings.Contains(said.String(), filepath.Base(where)) {
		t.Errorf("brigd does not say what it misses: %s", &said)
	}
	if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket is there: %v", err)
	}
}

// NS-03, the second layer: where the filter lets every call through, the sysctl still forbids user
// namespaces, and without a capability no other kind can be created.
func TestHostileNamespacesWithoutTheFilter(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	r := harness.Program(harness.BuildProbe(t, "NS-03"))
	r.ProfileMode, r.Limits = api.Log, harness.HostileLimits()
	res := a.MustRun(t, r)
	harness.WantVerdict(t, res, api.OK)
	list := harness.Attempts(t, res.Stdout)
	if len(list) != 16 {
		t.Errorf("%d attempts; want 16", len(list))
	}

	for _, got := range list {
		want := "EPERM"
		if strings.HasSuffix(got.Call, "NEWUSER") || strings.HasSuffix(got.Call, "all") {
			want = "ENOSPC"
		}
		if got.Errno != want {
			t.Errorf("%s: %s; want %s", got.Call, got.Errno, want)
		}
	}

	if len(res.Logged) == 0 {
		t.Error("nothing is logged: the calls have not gone past the filter")
	}
}

// SEC-07: a 32-bit entry in one thread of two ends the whole run at once, with a verdict that names
// the architecture. The kernel's own answer would end only the thread, and the run would continue
// to its wall limit.
func TestHostileForeignEntryIsNamed(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	entry := hasForeignEntry(t)
	probe := harness.BuildProbe(t, "SEC-07")
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		r := harness.Program(probe)
		r.Mode, r.Limits = mode, harness.HostileLimits()
		harness.Promptly(t, time.Second, func() time.Duration {
			res := a.MustRun(t, r)
			if !entry { // the kernel itself ends the program, before a filter is asked
				harness.WantVerdict(t, res, api.Signaled)
				if res.SignalName != "SIGSEGV" || res.Denial != nil {
					t.Errorf("%s, denial %+v; want SIGSEGV by the kernel", res.SignalName, res.Denial)
				}
				return time.Duration(res.Timing.Wall + res.Timing.Finish)
			}

			harness.WantVerdict(t, res, api.Denied)
			if d := res.Denial; d == nil || d.Arch != "i386" || d.Number != 20 || d.Rule == "" || d.Why == "" {
				t.Errorf("denial %+v; want call 20 of i386", d)
			}
			return time.Duration(res.Timing.Wall + res.Timing.Finish)
		})
	})
}

// RES-22, seen from the host: when a run that left as much as it could has been answered, none of
// its processes is alive.
func TestHostileResidueIsGoneFromTheHost(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	residue := harness.BuildProbe(t, "residue")
	residue.Name = fmt.Sprintf("residue-of-%d", os.Getpid()) // not the name of another test that runs now
	for range 3 {
		r := harness.Program(residue)
		r.Limits = harness.HostileLimits()
		harness.WantVerdict(t, a.MustRun(t, r), api.OK)
		if left := harness.ProcessesNamed(t, "./"+residue.Name); len(left) != 0 {
			t.Fatalf("processes of an answered run are alive: %v", left)
		}
	}

	res := a.MustRun(t, harness.Program(harness.BuildProbe(t, "RES-22")))
	harness.WantVerdict(t, res, api.OK)
	if strings.Contains(string(res.Stdout), "RESIDUE") {
		t.Errorf("the next run sees %q", res.Stdout)
	}
}
