package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// MEM-17: without the memory controller the agent does not start, and says what it
// misses. The controller is hidden by an empty file system over it, in a mount
// namespace of the agent's own.
func TestHostileMissingController(t *testing.T) {
	testenv.NeedRoot(t)
	unshare := testenv.NeedTool(t, "unshare", "util-linux")
	where := "/sys/fs/cgroup"
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		left, right, _ := strings.Cut(line, " - ")
		kind := strings.Fields(right)
		if kind[0] == "cgroup" && slices.Contains(strings.Split(kind[2], ","), "memory") {
			where = strings.Fields(left)[4]
		}
	}
	dir, err := os.MkdirTemp("/var/tmp", "brig-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	testenv.CleanHost(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	socket := filepath.Join(dir, "s")
	cmd := exec.CommandContext(ctx, unshare, "--mount", "--propagation", "private", "sh", "-c",
		`mount -t tmpfs none "$0" && exec "$@"`, where,
		binary(t, "brigd"), "--socket", socket, "--data-dir", dataDir(t), "--run-dir", filepath.Join(dir, "run"))
	var said bytes.Buffer
	cmd.Stderr = &said
	err = cmd.Run()
	if ctx.Err() != nil || err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("brigd without %s: %v; want exit code 1\n%s", where, err, &said)
	}
	if !strings.Contains(said.String(), "cgroup") || !strings.Contains(said.String(), filepath.Base(where)) {
		t.Errorf("brigd does not say what it misses: %s", &said)
	}
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		t.Errorf("a socket is there: %v", err)
	}
}

// SEC-07: a 32-bit entry in one thread of two ends the whole run at once, with a
// verdict that names the architecture. The kernel's own answer would end the
// thread only, and the run would go on to its wall limit.
func TestHostileForeignEntryIsNamed(t *testing.T) {
	a := startAgent(t, "--slots", "1")
	probe := buildProbe(t, "SEC-07")
	both(t, func(t *testing.T, mode api.Mode) {
		r := program(probe)
		r.Mode, r.Limits = mode, hostileLimits()
		res := a.run(t, r)
		wantVerdict(t, res, api.Denied)
		if d := res.Denial; d == nil || d.Arch != "i386" || d.Number != 20 || d.Rule == "" || d.Why == "" {
			t.Errorf("denial %+v; want call 20 of i386", d)
		}
		if took := time.Duration(res.Timing.Wall + res.Timing.Finish); took > time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// RES-22, as the host sees it: when a run that left what it could has been
// answered, no process of it is alive.
func TestHostileResidueIsGoneFromTheHost(t *testing.T) {
	a := startAgent(t, "--slots", "1")
	residue := buildProbe(t, "residue")
	residue.Name = fmt.Sprintf("residue-of-%d", os.Getpid()) // not that of another test at work
	for range 3 {
		r := program(residue)
		r.Limits = hostileLimits()
		wantVerdict(t, a.run(t, r), api.OK)
		if left := commands(t, "./"+residue.Name); len(left) != 0 {
			t.Fatalf("processes of an answered run are alive: %v", left)
		}
	}
	res := a.run(t, program(buildProbe(t, "RES-22")))
	wantVerdict(t, res, api.OK)
	if strings.Contains(string(res.Stdout), "RESIDUE") {
		t.Errorf("the next run sees %q", res.Stdout)
	}
}

// commands lists the processes of the host whose argv[0] is name.
func commands(t testing.TB, name string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(file string) bool {
		text, err := os.ReadFile(file) // of a process that has ended: an error, or nothing
		return err != nil || !strings.HasPrefix(string(text), name+"\x00")
	})
}
