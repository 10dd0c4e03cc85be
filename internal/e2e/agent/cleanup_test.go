package agent

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// What a killed agent leaves is removed and named; the directory of a living agent is not removed.
func TestCleanupKeepsLivingAgents(t *testing.T) {
	living := harness.StartAgent(t)
	living.MustRun(t, harness.Sh("true"))
	run := filepath.Join(living.Dir, "run")
	other := filepath.Join(living.Dir, "other")
	if err := os.Mkdir(other, 0o711); err != nil {
		t.Fatal(err)
	}

	dead := harness.Launch(t, other, harness.DataDir(t), "--run-dir", run)
	entries, err := os.ReadDir(run)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Fatalf("%d instances; want 2: %v", len(entries), entries)
	}

	dead.Kill()

	var got struct{ Instances []string }
	cleanup := func() {
		t.Helper()
		cmd := exec.Command(harness.Binary(t, "brig"), "cleanup", "--json", "--run-dir", run)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("brig cleanup: %v\n%s", err, out)
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("brig cleanup --json: %v\n%s", err, out)
		}
	}
	if cleanup(); len(got.Instances) != 1 {
		t.Errorf("removed %q; want one dead agent", got.Instances)
	}
	if cleanup(); len(got.Instances) != 0 {
		t.Errorf("removed %q the second time; want nothing", got.Instances)
	}

	living.MustRun(t, harness.Sh("true"))
}

// A killed brig serve leaves no directory: its agent, which then ends, removes the one of its
// socket. If the agent was killed too, brig cleanup removes it.
func TestKilledServiceLeavesNoDirectory(t *testing.T) {
	testenv.NeedRoot(t)
	if c, err := net.Dial("unix", "/run/brig/brigd.sock"); err == nil {
		c.Close()
		t.Skip("a brigd answers where brig serve looks for one")
	}

	dir := harness.PublicDir(t, "brig-e2e-")
	temp, run := filepath.Join(dir, "tmp"), filepath.Join(dir, "run")
	if err := os.Mkdir(temp, 0o1777); err != nil {
		t.Fatal(err)
	}

	t.Setenv("TMPDIR", temp)
	flags := []string{"--data-dir", filepath.Join(dir, "kept"), "--agent-arg=--run-dir=" + run, "--agent-arg=--data-dir=" + harness.DataDir(t),
		"--agent-arg=--volumes=" + filepath.Join(dir, "volumes")}
	left := func() []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(temp, "brig-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}

	kill := func(pid int, how syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(pid, how); err != nil {
			t.Fatal(err)
		}
	}

	s := harness.LaunchServe(t, flags...)
	if len(left()) != 1 {
		t.Fatalf("%q are there while it runs; want one directory", left())
	}

	kill(s.Cmd.Process.Pid, syscall.SIGKILL)
	<-s.Done
	harness.Eventually(t, "its directory to be removed", func() bool { return len(left()) == 0 })

	s = harness.LaunchServe(t, flags...)
	pid := s.Cmd.Process.Pid
	agent := harness.Descendants(t, pid)[0]
	kill(pid, syscall.SIGSTOP) // so that it removes nothing
	kill(agent, syscall.SIGKILL)
	kill(pid, syscall.SIGKILL)
	<-s.Done
	want := left()
	if len(want) != 1 {
		t.Fatalf("%q are left of both", want)
	}

	harness.Eventually(t, "the dead agent to release its socket", func() bool {
		c, err := net.Dial("unix", filepath.Join(want[0], "brigd.sock"))
		if err == nil {
			c.Close()
		}
		return err != nil
	})

	cmd := exec.Command(harness.Binary(t, "brig"), "cleanup", "--json", "--run-dir", run)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var got struct{ Sockets []string }
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil || !slices.Equal(got.Sockets, want) || len(left()) != 0 {
		t.Errorf("brig cleanup removes %q, %v, and leaves %q", got.Sockets, err, left())
	}
}

// An agent whose directory somebody removes ends with an error that says so, and leaves nothing: no other
// agent could find its groups.
func TestAnAgentWithoutItsDirectoryEnds(t *testing.T) {
	a := harness.StartAgent(t)
	a.MustRun(t, harness.Sh("true"))
	if err := os.RemoveAll(filepath.Join(a.Dir, "run")); err != nil {
		t.Fatal(err)
	}

	<-a.Done
	var exit *exec.ExitError
	if !errors.As(a.Err, &exit) || exit.ExitCode() <= 0 ||
		!strings.Contains(a.Log.String(), "the files of this agent were removed from "+filepath.Join(a.Dir, "run")) {
		t.Errorf("it ended with %v, and its log is\n%s", a.Err, a.Log)
	}
	if out, err := exec.Command(harness.Binary(t, "brig"), "cleanup", "--run-dir", filepath.Join(a.Dir, "run")).CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "nothing to clean up") {
		t.Errorf("brig cleanup: %v\n%s", err, out)
	}
}
