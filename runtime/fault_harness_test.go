package runtime

import (
	"bytes"
	"context"
	"errors"
	"maps"
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
	_ "github.com/opencontainers/runc/libcontainer/nsenter"

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
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute) // an emulated machine needs two, and a loaded one more
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

// writable stands for a strict run with a writable root.
const writable api.Mode = "writable"

func modeOf(m api.Mode) api.Mode {
	if m == writable {
		return api.Strict
	}
	return m
}

// unchanged reports whether an inventory has been the same for two seconds: then the keepers have cleaned up.
func unchanged() func(map[string]int) bool {
	var last map[string]int
	var since time.Time
	return func(now map[string]int) bool {
		if !maps.Equal(last, now) {
			last, since = now, time.Now()
		}
		return time.Since(since) >= 2*time.Second
	}
}

// awaitInventory counts what an agent in this process has on the host, by kind. It returns when enough is
// true, or after a while: the keepers clean up after a run.
func awaitInventory(t *testing.T, id string, wait time.Duration, enough func(map[string]int) bool) map[string]int {
	t.Helper()

	pause := 10 * time.Millisecond
	for deadline := time.Now().Add(wait); ; time.Sleep(pause) {
		pause = min(2*pause, 80*time.Millisecond)
		inv, kinds := map[string]int{}, map[string]int{}
		testenv.Groups(inv)
		testenv.Mounts(inv)
		testenv.Descriptors(inv)
		for item, n := range inv {
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
