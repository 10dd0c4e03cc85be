// Package e2e tests brig from outside: a real brigd, real cells, the typed client
// and the command line. Its tests need root and give the host back as it was.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/archive"
	"github.com/brig-sandbox/brig/rootfs/build"
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
		dir = "../bin"
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
	args := append([]string{"--socket", socket, "--data-dir", data, "--run-dir", filepath.Join(dir, "run"), "--volumes", filepath.Join(dir, "volumes")}, flags...)
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
			_ = a.cmd.Process.Kill()
			t.Fatalf("brigd does not answer\n%s", a.log)
		}
	}
	images.ensure(t, a)
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
	case <-time.After(30 * time.Second):
		_ = a.cmd.Process.Kill()
		<-a.done
		a.t.Errorf("brigd did not stop within 30 s")
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

// store imports the images that the tests use, once for all tests.
type store struct {
	mu   sync.Mutex
	have map[string]bool // by data directory and name
}

var images = store{have: map[string]bool{}}

// ensure makes sure that the tiny image is stored.
func (s *store) ensure(t testing.TB, a *agent) { s.load(t, a, "tiny") }

func (s *store) load(t testing.TB, a *agent, name string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	key := filepath.Join(a.data, name)
	if s.have[key] {
		return
	}
	list, err := a.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(list, func(i api.Image) bool { return slices.Contains(i.Names, name) })
	stored := at >= 0
	if stored { // it may date from before there were volumes
		images, err := rootfs.Open(filepath.Join(a.data, "images"))
		if err == nil {
			err = images.EnsureWorkspace(list[at].Digest)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if mark, current := recipeMark(t, a.data, name); !stored || !current {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		tarball := bytes.NewReader(imageArchive(ctx, t, name))
		if _, err := a.Import(ctx, tarball, name, ""); err != nil {
			t.Fatalf("import image %s: %v", name, err)
		}
		mark()
	}
	s.have[key] = true
}

// recipeMark reports whether the image in a store was made by today's recipe, and returns a
// function that records that it was.
func recipeMark(t testing.TB, data, name string) (mark func(), current bool) {
	t.Helper()
	recipe, err := build.FindRecipe(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(recipe)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(data, name+".recipe")
	saved, err := os.ReadFile(file)
	current = err == nil && bytes.Equal(saved, text) || os.Getenv("BRIG_TEST_IMAGES") != ""
	return func() {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}, current
}

// imageArchive builds an image, or takes it from $BRIG_TEST_IMAGES on a machine that cannot build it.
// What was built is kept for such a machine.
func imageArchive(ctx context.Context, t testing.TB, name string) []byte {
	t.Helper()
	dir := os.Getenv("BRIG_TEST_IMAGES")
	if dir == "" {
		dir = dataDir(t)
	}
	file := filepath.Join(dir, name+".tar.zst")
	if text, err := os.ReadFile(file); err == nil && os.Getenv("BRIG_TEST_IMAGES") != "" {
		return text
	}
	recipe, err := build.FindRecipe(name)
	if err != nil {
		t.Fatal(err)
	}
	var tarball bytes.Buffer
	if err := build.Image(ctx, recipe, &tarball, build.Options{Cache: "/var/cache/brig"}); err != nil {
		t.Fatalf("build image %s: %v", name, err)
	}
	if err := os.WriteFile(file, tarball.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return tarball.Bytes()
}

// slow scales a bound on wall time where system calls are slow, as in software emulation:
// $BRIG_TEST_SLOW is the factor.
func slow(d time.Duration) time.Duration {
	if n, err := strconv.Atoi(os.Getenv("BRIG_TEST_SLOW")); err == nil && n > 1 {
		return d * time.Duration(n)
	}
	return d
}

// rounds is how often a test repeats what it has to see many times: a third of n where a round
// takes many times as long. The host itself does all n.
func rounds(n int) int {
	if slow(1) > 1 {
		return max(1, n/3)
	}
	return n
}

// patience is the deadline for an event that must come, where its time does not matter: on a loaded
// machine everything can take seconds.
func patience() time.Time { return time.Now().Add(slow(30 * time.Second)) }

// promptly demands that the quickest of up to five attempts takes at most most: load on the machine
// makes it longer, never shorter.
func promptly(t testing.TB, most time.Duration, once func() time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 5 {
		d := once()
		if d <= slow(most) {
			return
		}
		took = append(took, d)
	}
	t.Errorf("took %s; want at most %s", took, slow(most))
}

// slowly is a limit in seconds that slow scales, for programs that must get somewhere before they
// reach it.
func slowly(s float64) api.Duration {
	return api.Duration(slow(time.Duration(s * float64(time.Second))))
}

// needPython loads the image of Python.
func (a *agent) needPython(t testing.TB) {
	t.Helper()
	images.load(t, a, "python")
}

// sh is a run of a shell script in the tiny image.
func sh(script string) api.Run {
	return api.Run{Image: "tiny", Argv: []string{"/bin/sh", "-c", script}}
}

// py is a run of a Python program.
func py(source string) api.Run { return api.Run{Language: "python", Source: api.Bytes(source)} }

// runAsync runs r in the background. A result is always delivered, so a test that waits for it never
// hangs. An error is reported, and the result is then empty.
func (a *agent) runAsync(t testing.TB, r api.Run) <-chan api.Result {
	t.Helper()
	done := make(chan api.Result, 1)
	go func() { // joined by the reader of the result
		res, err := a.Client.Run(t.Context(), r)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	return done
}

// run executes r and fails the test when brig itself fails.
func (a *agent) run(t testing.TB, r api.Run) api.Result {
	t.Helper()
	res, err := a.Run(t.Context(), r)
	if err != nil {
		t.Fatalf("run: %v\n%s", err, a.log)
	}
	return res
}

// refused sends r and demands that brig refuses it with a code.
func (a *agent) refused(t testing.TB, r api.Run, code api.Code) *api.Error {
	t.Helper()
	res, err := a.Client.Run(t.Context(), r)
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("run ended with %+v, %v; want a refusal with code %s", res.Verdict, err, code)
	}
	if e.Code != code {
		t.Errorf("refused with code %s (%s); want %s", e.Code, e.Message, code)
	}
	return e
}

// wantVerdict demands a verdict and reports the actual one.
func wantVerdict(t testing.TB, res api.Result, want api.Verdict) {
	t.Helper()
	if res.Verdict != want {
		t.Errorf("verdict %s (exit %d, signal %d, hit %v, denial %+v); want %s\nstdout: %.300q\nstderr: %.300q",
			res.Verdict, res.ExitCode, res.Signal, res.LimitsHit, res.Denial, want, res.Stdout, res.Stderr)
	}
}

// program is a run of a compiled probe.
func program(f api.File, args ...string) api.Run {
	return api.Run{Image: "tiny", Files: []api.File{f}, Argv: append([]string{"./" + f.Name}, args...)}
}

func seconds(f float64) api.Duration { return api.Duration(f * float64(time.Second)) }

// both runs a test in strict mode and in fresh mode.
func both(t *testing.T, f func(t *testing.T, mode api.Mode)) {
	for _, mode := range []api.Mode{api.Strict, api.Fresh} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) { f(t, mode) })
	}
}
