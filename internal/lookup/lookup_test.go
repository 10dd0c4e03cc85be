package lookup

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// While others rename, a name with .. is found, and one that leads out or does not exist is refused as always. The
// control is the bare call, which they disturb.
func TestLookupsBesideRenames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"root/sub", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "root/file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("sub/../file", filepath.Join(dir, "root/link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenFile(filepath.Join(dir, "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	var over atomic.Bool
	var renaming sync.WaitGroup
	defer renaming.Wait()
	defer over.Store(true)
	for range 2 {
		a, err := os.MkdirTemp(filepath.Join(dir, "other"), "")
		if err != nil {
			t.Fatal(err)
		}
		renaming.Go(func() {
			for from, to := a, a+"x"; !over.Load(); from, to = to, from {
				if err := os.Rename(from, to); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}

	disturbed := 0
	for range 20_000 {
		for name, want := range map[string]error{
			"sub/../file": nil, "link": nil, "sub/../none": unix.ENOENT, "sub/../../other": unix.EXDEV,
		} {
			how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH}
			if n, err := unix.Openat2(int(root.Fd()), name, how); err == nil {
				unix.Close(n)
			} else if err == unix.EAGAIN { //nolint:errorlint // as it comes from the kernel
				disturbed++
			}
			n, err := Openat2(int(root.Fd()), name, how)
			if err == nil {
				unix.Close(n)
			}
			if err != want { //nolint:errorlint // as it comes from the kernel
				t.Fatalf("%s: %v; want %v", name, err, want)
			}
		}
		if disturbed >= 100 {
			return
		}
	}
	if disturbed == 0 {
		t.Skip("the renames have disturbed no lookup on this machine")
	}
}

// Each lookup of the project with openat2 is repeated. The others have names without .. that lead over no link.
func TestEachLookupIsRepeated(t *testing.T) {
	without := map[string]string{
		"internal/lookup/lookup.go": "this one",
		"cgroups/file.go":           "names of the kernel",
		"internal/doctor/probe.go":  "asks whether the call exists",
	}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		code, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, "../../")
		if strings.Contains(string(code), "unix.Openat2(") {
			if without[name] == "" {
				t.Errorf("%s calls unix.Openat2: use lookup.Openat2", name)
			}
			delete(without, name)
		}
		return nil
	})
	if err != nil || len(without) > 0 {
		t.Errorf("%v; calls no unix.Openat2: %v", err, without)
	}
}
