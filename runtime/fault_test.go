package runtime

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/runc/libcontainer"
	_ "github.com/opencontainers/runc/libcontainer/nsenter" // enters the namespaces before Go starts

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/archive"
	"github.com/brig-sandbox/brig/rootfs/build"
)

// TestMain lets this binary act as the child processes that libcontainer and the image store
// execute, as brigd does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "init":
			libcontainer.Init() // does not return
		case archive.AdmitArg:
			os.Exit(archive.AdmitMain(os.Stdin, os.Stdout))
		}
	}
	os.Exit(m.Run())
}

// A fault makes one step fail each time it is reached, and records all steps.
type fault struct {
	mu      sync.Mutex
	at      string
	bug     bool // the step panics instead
	reached bool
	seen    []string
	made    int // cells whose building began
}

var errFault = errors.New("fault of the test")

func (f *fault) step(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.seen, name) {
		f.seen = append(f.seen, name)
	}
	if name == "cell root" {
		f.made++
	}
	if name != f.at {
		return nil
	}
	f.reached = true
	if f.bug {
		panic(errFault)
	}
	return errFault
}

func (f *fault) set(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.bug, f.reached = name, false, false
}

// crash makes the step panic.
func (f *fault) crash(name string) {
	f.set(name)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bug = true
}

func (f *fault) cells() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.made
}

func (f *fault) steps() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// The steps from an agent's start to a result, in order.
var (
	openSteps = []string{"open instance", "open dev", "open groups", "open cellinit", "open slots"}
	runSteps  = []string{
		"cell root", "cell dev", "cell groups", "cell container", "cell filter", "cell ready",
		"shell leaf", "shell scratch", "shell pipes", "shell clone",
		"run limits", "run files", "run stdio", "run start",
	}
	lateSteps  = []string{"run watch", "run stop", "run collect"}      // the program has been started before
	layerSteps = []string{"layer image", "layer top", "layer overlay"} // of a writable root
	copySteps  = []string{"copy image", "copy mount"}                  // of mode exclusive
	afterSteps = []string{"shell destroy", "leaf keep", "cell close"}  // the run has been answered before
)

// privateFaults marks the second execution of the test, in its own mount namespace.
const privateFaults = "BRIG_TEST_FAULTS"

// privately executes a test a second time in its own mount namespace, and checks that it passes
// there and leaves the host as it was. The second execution gets a directory that every process may
// pass through.
func privately(t *testing.T) (dir string, second bool) {
	t.Helper()
	testenv.NeedRoot(t)
	if os.Getenv(privateFaults) == "" {
		testenv.CleanHost(t)
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute) // an emulated machine needs two, and a loaded one more
		defer cancel()
		cmd := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), privateFaults+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Errorf("in a mount namespace of its own: %v\n%s", err, out)
		}
		return "", false
	}
	dir, err := os.MkdirTemp("/var/tmp", "brig-faults-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir, true
}

// AGT-17: whichever setup step fails, the program does not run, the caller gets an error, the next
// run works normally, and the host is clean.
func TestEveryStepFailsClosed(t *testing.T) {
	dir, second := privately(t)
	if !second {
		return
	}
	f := &fault{}
	var log bytes.Buffer // read after the host is closed
	cfg := Config{
		RunDir: filepath.Join(dir, "run"), Slots: 1, Images: tinyStore(t), fault: f.step,
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}

	for _, step := range openSteps {
		f.set(step)
		h, err := Open(cfg)
		if !errors.Is(err, errFault) {
			t.Errorf("%s fails: %v", step, err)
		}
		if h != nil {
			t.Fatalf("%s fails, and yet a host is open: %v", step, h.Close())
		}
	}
	f.set("")
	h, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		left, err := os.ReadDir(cfg.RunDir)
		if err != nil || len(left) != 0 {
			t.Errorf("left in the run directory: %v, %v", left, err)
		}
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, errFault.Error()) { // those of afterSteps belong in the log
				t.Errorf("not all was taken back:\n%s", line)
			}
		}
		for _, step := range []string{"cell not reusable", "cell not completely destroyed"} {
			if !strings.Contains(log.String(), step) {
				t.Errorf("the log does not say %q:\n%s", step, &log)
			}
		}
	})
	run := func(mode api.Mode) (string, error) {
		var out, errs bytes.Buffer
		_, err := h.Run(t.Context(), api.Run{
			Image: "tiny", Argv: []string{"/bin/sh", "-c", "echo ran"}, Mode: modeOf(mode), WritableRoot: mode == writable,
			Limits: api.Limits{Wall: api.Duration(20 * time.Second), Memory: 32 * api.MiB},
		}, api.Streams{Stdout: &out, Stderr: &errs}, api.Caller{})
		return out.String() + errs.String(), err
	}
	// RES-23: a cell that cannot be made as good as new is destroyed, and another is built in its
	// place. A cell that can continues to serve. There are no cells of other modes yet, whose
	// building could be mistaken for that.
	for _, step := range []string{"", "run watch", "run stop", "run collect", "shell destroy", "leaf keep"} {
		t.Run("reset without "+step, func(t *testing.T) {
			f.set("")
			if out, err := run(api.Strict); err != nil || out != "ran\n" {
				t.Fatalf("before the fault: %q, %v", out, err)
			}
			kept := f.cells()
			f.set(step)
			if _, err := run(api.Strict); (err != nil) != slices.Contains(lateSteps, step) {
				t.Errorf("the run ended with %v", err)
			}
			for deadline := time.Now().Add(20 * time.Second); step != "" && f.cells() == kept; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("no other cell is built: the one in doubt serves on")
				}
			}
			f.set("")
			if out, err := run(api.Strict); err != nil || out != "ran\n" {
				t.Errorf("the run after it: %q, %v", out, err)
			}
			if n := f.cells() - kept; step == "" && n != 0 {
				t.Errorf("%d cells were built without a fault", n)
			}
		})
	}
	modes := []api.Mode{api.Fresh, api.Strict, api.Exclusive, writable}
	var refusal *api.Error
	if _, err := run(writable); errors.As(err, &refusal) && refusal.Code == api.CodeUnsupported {
		t.Logf("without the steps of a writable root, which another test demands: %v", err)
		modes = modes[:3]
	}
	for _, mode := range modes {
		if out, err := run(mode); err != nil || out != "ran\n" {
			t.Fatalf("without a fault: %q, %v", out, err)
		}
	}
	before := awaitInventory(t, h.instance.id, 2*time.Second, func(map[string]int) bool { return false })
	// sound checks that runs of every kind still work: they share the slot.
	sound := func(t *testing.T) {
		t.Helper()
		for _, mode := range modes {
			if out, err := run(mode); err != nil || out != "ran\n" {
				t.Errorf("the %s run after it: %q, %v", mode, out, err)
			}
		}
		after := awaitInventory(t, h.instance.id, 20*time.Second, func(now map[string]int) bool { return len(testenv.Added(before, now)) == 0 })
		if added := testenv.Added(before, after); len(added) != 0 {
			t.Errorf("left by the failure:\n  %s", strings.Join(added, "\n  "))
		}
	}
	for _, mode := range modes {
		steps := slices.Concat(runSteps, lateSteps)
		switch mode {
		case writable:
			steps = layerSteps
		case api.Exclusive:
			steps = append(steps, copySteps...)
		}
		for _, step := range steps {
			t.Run(string(mode)+" "+step, func(t *testing.T) {
				var out string
				var err error
				if mode == api.Strict && strings.HasPrefix(step, "cell ") {
					// A kept cell is built once: it must be lost so that its steps are reached
					// again, and its keeper may build the next one before we set the fault.
					for tries := 0; tries < 50 && err == nil; tries++ {
						f.set("run limits")
						runUntilError(t, f, "run limits", func() (string, error) { return run(mode) })
						f.set(step)
						out, err = run(mode)
					}
				} else {
					f.set(step)
					out, err = runUntilError(t, f, step, func() (string, error) { return run(mode) })
				}
				var refusal *api.Error
				if !errors.As(err, &refusal) || !strings.Contains(err.Error(), errFault.Error()) {
					t.Errorf("the caller gets the error %v", err)
				}
				if err != nil && strings.Contains(err.Error(), "\n") {
					t.Errorf("what was done could not be taken back: %v", err)
				}
				if out != "" && !slices.Contains(lateSteps, step) {
					t.Errorf("the program ran: %q", out)
				}
				f.set("")
				sound(t)
			})
		}
	}
	// AGT-13: a failure after the answer, such as in removing a group or a mount, costs the cell
	// and no run; the log reports what is left.
	for _, mode := range modes {
		for _, step := range afterSteps {
			t.Run(string(mode)+" "+step, func(t *testing.T) {
				f.set(step)
				for range 4 {
					if out, err := run(mode); err != nil || out != "ran\n" {
						t.Errorf("a run while it fails: %q, %v", out, err)
					}
				}
				f.set("")
				sound(t)
			})
		}
	}
	// AGT-10: a bug of ours in the middle of a run costs that run and its cell.
	for _, step := range []string{"run limits", "run stdio", "run watch", "run stop", "run collect"} {
		t.Run("panic at "+step, func(t *testing.T) {
			f.crash(step)
			func() {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				_, _ = run(api.Strict)
			}()
			f.set("")
			sound(t)
		})
	}
	got, want := f.steps(), slices.Concat(openSteps, runSteps, lateSteps, copySteps, layerSteps, afterSteps)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("steps met:\n%q; want\n%q", got, want)
	}
}

// writable stands for a strict run with a writable root.
const writable api.Mode = "writable"

func modeOf(m api.Mode) api.Mode {
	if m == writable {
		return api.Strict
	}
	return m
}

// awaitInventory counts what an agent in this process has on the host, by kind. It returns when enough is
// true, or after a while: the keepers clean up after a run.
func awaitInventory(t *testing.T, id string, wait time.Duration, enough func(map[string]int) bool) map[string]int {
	t.Helper()
	for deadline := time.Now().Add(wait); ; time.Sleep(10 * time.Millisecond) {
		kinds := map[string]int{}
		for item, n := range testenv.Inventory() {
			switch kind, _, _ := strings.Cut(item, " "); kind {
			case "descriptor", "mount":
				kinds[kind] += n
			case "cgroup":
				if strings.Contains(item, id) {
					kinds[kind] += n
				}
			}
		}
		files, err := filepath.Glob("/proc/self/task/*/children")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			list, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
				t.Fatal(err)
			}
			kinds["child"] += len(strings.Fields(string(list)))
		}
		if enough(kinds) || time.Now().After(deadline) {
			return kinds
		}
	}
}

// runUntilError runs until a run fails: cells and shells are made ahead, so the first ones may have been
// prepared before the fault was set.
func runUntilError(t *testing.T, f *fault, step string, run func() (string, error)) (string, error) {
	t.Helper()
	for range 4 {
		if out, err := run(); err != nil {
			return out, err
		} else if out != "ran\n" {
			t.Errorf("%s: a run without an error gave %q", step, out)
		}
	}
	t.Fatalf("%s failed in none of four runs (met: %v)", step, f.reached)
	return "", nil
}

// tinyStore is the store that the privileged tests share, with the tiny image.
func tinyStore(t *testing.T) *rootfs.Store {
	t.Helper()
	dir := os.Getenv("BRIG_TEST_DATA")
	if dir == "" {
		dir = "/var/tmp/brig-test"
	}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	store, err := rootfs.Open(filepath.Join(dir, "images"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Lookup("tiny"); err == nil {
		return store
	}
	recipe, err := build.FindRecipe("tiny")
	if err != nil {
		t.Fatal(err)
	}
	var tarball bytes.Buffer
	if err := build.Image(t.Context(), recipe, &tarball, build.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Import(t.Context(), &tarball, rootfs.Options{Name: "tiny"}); err != nil {
		t.Fatal(err)
	}
	return store
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
