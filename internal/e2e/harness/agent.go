// Package harness has what the end-to-end tests share: agents, services, images, runs and the checks of the host. They
// test brig from outside, with a real brigd, real cells, the typed client and the command line; they need root and
// give the host back as it was. What one folder alone uses is in that folder.
package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs/archive"
)

// Main runs the tests of a folder. The binary is also the process that reads archives for an agent's store.
func Main(m *testing.M) {
	if slices.Contains(os.Args[1:min(2, len(os.Args))], archive.AdmitArg) {
		os.Exit(archive.AdmitMain(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// Binary finds brig or brigd: in $BRIG_BIN, else in the checkout's bin, where
// `make build` puts them.
func Binary(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("BRIG_BIN")
	if dir == "" {
		dir = "../../../bin"
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return testenv.NeedFile(t, path, "run make build first")
}

// DataDir is a store that all tests share, with the images they need; it is filled once and kept
// between test runs. It must be on a file system with idmapped mounts.
func DataDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("BRIG_TEST_DATA")
	if dir == "" {
		dir = "/var/tmp/brig-test"
	}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// An Agent is a real brigd with its own socket and run directory.
type Agent struct {
	*client.Client
	T      testing.TB
	Cmd    *exec.Cmd
	Dir    string
	Data   string // where the images are
	Socket string
	Log    *bytes.Buffer
	Done   chan struct{} // closed when the process has ended
	Err    error         // how it ended; valid after Done is closed
}

// PublicDir makes a directory that any process may traverse.
func PublicDir(t testing.TB, pattern string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", pattern)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// StartAgent starts an agent with additional flags and stops it when the test is over; then the
// host must be as it was before.
func StartAgent(t testing.TB, flags ...string) *Agent {
	t.Helper()
	return StartAgentWith(t, DataDir(t), flags...)
}

// StartAgentWith is StartAgent with the images of data.
func StartAgentWith(t testing.TB, data string, flags ...string) *Agent {
	t.Helper()
	testenv.NeedRoot(t)
	dir := PublicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	a := Launch(t, dir, data, flags...)
	t.Cleanup(a.Stop)
	return a
}

// StartParallelAgent is StartAgent for a test that mostly waits. Such tests run in parallel with each
// other, after all others, so they must not have tight time limits.
func StartParallelAgent(t *testing.T, flags ...string) *Agent {
	t.Helper()
	ParallelTest(t)
	a := Launch(t, PublicDir(t, "brig-e2e-"), DataDir(t), flags...)
	t.Cleanup(a.Stop)
	return a
}

// ParallelTest marks such a test as parallel.
func ParallelTest(t *testing.T) {
	t.Helper()
	testenv.NeedRoot(t)
	t.Parallel()
	testenv.CleanHost(t)
}

// Launch starts a brigd in dir and waits until it answers.
func Launch(t testing.TB, dir, data string, flags ...string) *Agent {
	t.Helper()
	if Slow(1) > 1 { // limits that are times as long are above the usual ceilings
		flags = append([]string{"--max-wall", "10m", "--max-cpu", "10m"}, flags...)
	}
	return LaunchAfter(t, dir, data, nil, flags...)
}

// LaunchAfter is launch, but calls prepare with the process id before the process becomes brigd.
func LaunchAfter(t testing.TB, dir, data string, prepare func(pid int), flags ...string) *Agent {
	t.Helper()
	return LaunchUnder(t, dir, data, nil, prepare, flags...)
}

// LaunchUnder is LaunchAfter behind a command that finally executes brigd: unshare, sh.
func LaunchUnder(t testing.TB, dir, data string, wrapper []string, prepare func(pid int), flags ...string) *Agent {
	t.Helper()
	socket := filepath.Join(dir, "s")
	a := &Agent{Client: client.New(socket), T: t, Dir: dir, Data: data, Socket: socket, Log: &bytes.Buffer{}, Done: make(chan struct{})}
	args := append([]string{"--socket", socket, "--data-dir", data, "--run-dir", filepath.Join(dir, "run"), "--volumes",
		filepath.Join(dir, "volumes"), "--snapshots", filepath.Join(dir, "snapshots")}, flags...)
	if prepare != nil {
		wrapper = append([]string{"sh", "-c", `read _ && exec "$@"`, "sh"}, wrapper...)
	}

	argv := slices.Concat(wrapper, []string{Binary(t, "brigd")}, args)
	a.Cmd = exec.Command(argv[0], argv[1:]...)
	gate, err := a.Cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()

	a.Cmd.Stderr = a.Log
	if err := a.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(a.Cmd.Process.Pid)
		fmt.Fprintln(gate)
	}

	go func() { a.Err = a.Cmd.Wait(); close(a.Done) }()
	ready := false
	defer func() {
		if !ready { // the test ends here, and its caller has no agent to stop
			a.Stop()
		}
	}()

	for deadline := Patience(); ; time.Sleep(5 * time.Millisecond) {
		if _, err := a.Health(t.Context()); err == nil {
			break
		}
		select {
		case <-a.Done:
			t.Fatalf("brigd ended: %v\n%s", a.Err, a.Log)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("brigd does not answer\n%s", a.Log)
		}
	}

	Images.ensure(t, a)
	ready = true
	return a
}

// Stop ends the agent as systemd would, and fails the test if it does not end cleanly.
func (a *Agent) Stop() {
	a.T.Helper()
	a.Client.Close()
	select {
	case <-a.Done: // a test that killed the agent has waited for it
		return
	default:
	}

	if err := a.Cmd.Process.Signal(unix.SIGTERM); err != nil {
		a.T.Errorf("stop brigd: %v", err)
	}

	select {
	case <-a.Done:
	case <-time.After(time.Minute):
		_ = a.Cmd.Process.Kill()
		<-a.Done
		a.T.Errorf("brigd did not stop within a minute")
	}

	if a.Err != nil {
		a.T.Errorf("brigd: %v", a.Err)
	}
	if strings.Contains(a.Log.String(), "level=ERROR") || a.T.Failed() {
		a.T.Logf("brigd's log:\n%s", a.Log)
	}
}

// Kill ends the agent as a crash would.
func (a *Agent) Kill() {
	a.T.Helper()
	if err := a.Cmd.Process.Kill(); err != nil {
		a.T.Fatal(err)
	}
	<-a.Done
	a.Client.Close()
}

// Brig runs a command of the agent, and returns what it prints.
func (a *Agent) Brig(t testing.TB, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(Binary(t, "brig"), args...)
	cmd.Env = append(append(os.Environ(), "BRIG_SOCKET="+a.Socket), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
