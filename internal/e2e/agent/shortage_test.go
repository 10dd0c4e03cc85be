package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// runDuringShortage demands that each run during a shortage gets its own verdict or a retry-safe brig error,
// and counts the errors that name the shortage.
func runDuringShortage(t *testing.T, a *harness.Agent, what string) (exhausted int) {
	t.Helper()

	for i := range 12 {
		r := harness.Sh("echo x >f; exit 7")
		if i%2 == 1 {
			r.Mode = api.Fresh
		}

		res, err := a.Run(t.Context(), r)
		var e *api.Error
		switch {
		case err == nil && res.Verdict == api.Nonzero && res.ExitCode == 7:
		case err == nil:
			t.Errorf("short of %s: verdict %s, exit %d; want its own, or an error", what, res.Verdict, res.ExitCode)
		case !errors.As(err, &e) || !e.RetrySafe || e.Code != api.CodeHostExhausted && e.Code != api.CodeInternal:
			t.Errorf("short of %s: %v; want an error of brig's that is retry-safe", what, err)
		case e.Code == api.CodeInternal: // a child of brig's ran into it, and described it in other words
		default:
			exhausted++
		}
	}

	return exhausted
}

// wantRecovery demands that runs of both modes work as usual, the first at once.
func wantRecovery(t *testing.T, a *harness.Agent, what string) {
	t.Helper()
	for _, mode := range []api.Mode{api.Strict, api.Fresh, api.Strict, api.Fresh} {
		r := harness.Sh("exit 7")
		r.Mode = mode
		res, err := a.Run(t.Context(), r)
		if err != nil || res.Verdict != api.Nonzero {
			t.Errorf("after the end of the shortage of %s, %s: %s, %v\n%s", what, mode, res.Verdict, err, a.Log)
		}
	}
}

// AGT-07: an agent that runs out of descriptors reports it, and continues when it has them again.
func TestShortOfDescriptors(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	wantRecovery(t, a, "nothing")
	pid := a.Cmd.Process.Pid
	var had unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &had); err != nil {
		t.Fatal(err)
	}

	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}

	for _, room := range []int{-len(entries) / 2, 0, 4, 8, 16} { // it fails in a different place of brig's each time
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(len(entries) + room), Max: had.Max}, nil); err != nil {
			t.Fatal(err)
		}
		named := runDuringShortage(t, a, fmt.Sprintf("descriptors (%d left)", room))
		if room < 0 && named == 0 {
			t.Error("no run failed for that reason, so nothing was short")
		}
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &had, nil); err != nil {
			t.Fatal(err)
		}
		wantRecovery(t, a, "descriptors")
	}
}

// AGT-08: so does an agent whose cells can have no more processes.
func TestShortOfProcesses(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	wantRecovery(t, a, "nothing")
	ids, err := filepath.Glob(filepath.Join(a.Dir, "run", "*"))
	if err != nil || len(ids) != 1 {
		t.Fatalf("instances %q, %v", ids, err)
	}

	text, err := os.ReadFile(filepath.Join(ids[0], "groups"))
	if err != nil {
		t.Fatal(err)
	}

	limited := 0
	set := func(value func(current string) string) {
		t.Helper()

		for _, group := range strings.Fields(string(text)) {
			if filepath.Base(group) == "brig-agent" {
				continue
			}

			current, err := os.ReadFile(filepath.Join(group, "pids.current"))
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(group, "pids.max"), []byte(value(strings.TrimSpace(string(current)))), 0)
			}
			if err != nil {
				t.Fatal(err)
			}

			limited++
		}
	}

	set(func(string) string { return "1" })
	if limited != 1 {
		t.Fatalf("%d groups have pids.max; want 1", limited)
	}
	if runDuringShortage(t, a, "processes") == 0 {
		t.Error("no run failed for that reason, so nothing was short")
	}

	set(func(string) string { return "max" })
	wantRecovery(t, a, "processes")
}

// AGT-03: the run directory is on a full file system.
func TestShortOfDisk(t *testing.T) {
	testenv.NeedRoot(t)
	data := harness.DataDir(t)
	dir := harness.PublicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", run, "tmpfs", 0, "mode=0711,size=256k"); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := unix.Unmount(run, 0); err != nil {
			t.Errorf("unmount %s: %v", run, err)
		}
	})

	t.Run("no agent starts on a full run directory", func(t *testing.T) {
		free := fillDisk(t, run)
		out, err := exec.CommandContext(t.Context(), harness.Binary(t, "brigd"), "--socket", filepath.Join(dir, "s"),
			"--data-dir", data, "--run-dir", run).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "no space left") || !strings.Contains(string(out), run) {
			t.Errorf("brigd: %v, %s; want it to name the place and the reason", err, out)
		}
		free()
		if left, err := os.ReadDir(run); err != nil || len(left) != 0 {
			t.Errorf("left in the run directory: %v, %v", left, err)
		}
	})

	t.Run("an agent goes on when its run directory is full", func(t *testing.T) {
		a := harness.Launch(t, dir, data, "--slots", "2")
		defer a.Stop()
		free := fillDisk(t, run)
		wantRecovery(t, a, "nothing: a run writes nothing there")
		free()
		wantRecovery(t, a, "disk")
	})
}

// fillDisk takes all the space at dir until free is called.
func fillDisk(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}

	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}

	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
