// Package e2e tests brig from outside: a real brigd, real cells, the typed client
// and the command line. Its tests need root and give the host back as it was.
package e2e

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

func TestMain(m *testing.M) {
	if slices.Contains(os.Args[1:min(2, len(os.Args))], archive.AdmitArg) {
		os.Exit(archive.AdmitMain(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// binary finds brig or brigd: in $BRIG_BIN, else in the checkout's bin, where
// `make build` puts them.
func binary(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("BRIG_BIN")
	if dir == "" {
		dir = "../../bin"
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return testenv.NeedFile(t, path, "run make build first")
}

// dataDir is a store that all tests share, with the images they need; it is filled once and kept
// between test runs. It must be on a file system with idmapped mounts.
func dataDir(t testing.TB) string {
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

// An agent is a real brigd with its own socket and run directory.
type agent struct {
	*client.Client
	t      testing.TB
	cmd    *exec.Cmd
	dir    string
	data   string // where the images are
	socket string
	log    *bytes.Buffer
	done   chan struct{} // closed when the process has ended
	err    error         // how it ended; valid after done is closed
}

// publicDir makes a directory that any process may traverse.
func publicDir(t testing.TB, pattern string) string {
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

// startAgent starts an agent with additional flags and stops it when the test is over; then the
// host must be as it was before.
func startAgent(t testing.TB, flags ...string) *agent {
	t.Helper()
	return startAgentWith(t, dataDir(t), flags...)
}

// startAgentWith is startAgent with the images of data.
func startAgentWith(t testing.TB, data string, flags ...string) *agent {
	t.Helper()
	testenv.NeedRoot(t)
	dir := publicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	a := launch(t, dir, data, flags...)
	t.Cleanup(a.stop)
	return a
}

// startParallelAgent is startAgent for a test that mostly waits. Such tests run in parallel with each
// other, after all others, so they must not have tight time limits.
func startParallelAgent(t *testing.T, flags ...string) *agent {
	t.Helper()
	parallelTest(t)
	a := launch(t, publicDir(t, "brig-e2e-"), dataDir(t), flags...)
	t.Cleanup(a.stop)
	return a
}

// parallelTest marks such a test as parallel.
func parallelTest(t *testing.T) {
	t.Helper()
	testenv.NeedRoot(t)
	t.Parallel()
	testenv.CleanHost(t)
}

// launch starts a brigd in dir and waits until it answers.
func launch(t testing.TB, dir, data string, flags ...string) *agent {
	t.Helper()
	if slow(1) > 1 { // limits that are times as long are above the usual ceilings
		flags = append([]string{"--max-wall", "10m", "--max-cpu", "10m"}, flags...)
	}
	return launchAfter(t, dir, data, nil, flags...)
}

// launchAfter is launch, but calls prepare with the process id before the process becomes brigd.
func launchAfter(t testing.TB, dir, data string, prepare func(pid int), flags ...string) *agent {
	t.Helper()
	return launchUnder(t, dir, data, nil, prepare, flags...)
}

// launchUnder is launchAfter behind a command that finally executes brigd: unshare, sh.
func launchUnder(t testing.TB, dir, data string, wrapper []string, prepare func(pid int), flags ...string) *agent {
	t.Helper()
	socket := filepath.Join(dir, "s")
	a := &agent{Client: client.New(socket), t: t, dir: dir, data: data, socket: socket, log: &bytes.Buffer{}, done: make(chan struct{})}
	args := append([]string{"--socket", socket, "--data-dir", data, "--run-dir", filepath.Join(dir, "run"), "--volumes",
		filepath.Join(dir, "volumes")}, flags...)
	if prepare != nil {
		wrapper = append([]string{"sh", "-c", `read _ && exec "$@"`, "sh"}, wrapper...)
	}

	argv := slices.Concat(wrapper, []string{binary(t, "brigd")}, args)
	a.cmd = exec.Command(argv[0], argv[1:]...)
	gate, err := a.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()

	a.cmd.Stderr = a.log
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(a.cmd.Process.Pid)
		fmt.Fprintln(gate)
	}

	go func() { a.err = a.cmd.Wait(); close(a.done) }()
	ready := false
	defer func() {
		if !ready { // the test ends here, and its caller has no agent to stop
			a.stop()
		}
	}()

	for deadline := patience(); ; time.Sleep(5 * time.Millisecond) {
		if _, err := a.Health(t.Context()); err == nil {
			break
		}
		select {
		case <-a.done:
			t.Fatalf("brigd ended: %v\n%s", a.err, a.log)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("brigd does not answer\n%s", a.log)
		}
	}

	images.ensure(t, a)
	ready = true
	return a
}

// stop ends the agent as systemd would, and fails the test if it does not end cleanly.
func (a *agent) stop() {
	a.t.Helper()
	a.Client.Close()
	select {
	case <-a.done: // a test that killed the agent has waited for it
		return
	default:
	}

	if err := a.cmd.Process.Signal(unix.SIGTERM); err != nil {
		a.t.Errorf("stop brigd: %v", err)
	}

	select {
	case <-a.done:
	case <-time.After(time.Minute):
		_ = a.cmd.Process.Kill()
		<-a.done
		a.t.Errorf("brigd did not stop within a minute")
	}

	if a.err != nil {
		a.t.Errorf("brigd: %v", a.err)
	}
	if strings.Contains(a.log.String(), "level=ERROR") || a.t.Failed() {
		a.t.Logf("brigd's log:\n%s", a.log)
	}
}

// kill ends the agent as a crash would.
func (a *agent) kill() {
	a.t.Helper()
	if err := a.cmd.Process.Kill(); err != nil {
		a.t.Fatal(err)
	}
	<-a.done
	a.Client.Close()
}
