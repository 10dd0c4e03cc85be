package packages

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// An installation that panics, of which the agent fails the one request (AGT-10), leaves its key free.
func TestAPanicLeavesTheKeyFree(t *testing.T) {
	var i Installer
	own, _ := i.begin("key")
	func() {
		defer func() { recover() }() //nolint:errcheck // it is the panic below
		_, _ = i.perform("key", own, func() (api.PackageSet, error) { panic("a bug") })
	}()
	select {
	case <-own.done:
	default:
		t.Error("those who wait for the installation wait for ever")
	}

	if again, other := i.begin("key"); again == nil {
		t.Errorf("the key is blocked: %+v", other)
	}
}

// A panic while a set is stored ends the goroutine that writes its archive.
func TestAPanicEndsTheWriter(t *testing.T) {
	box := tree(t, func(dir string) {
		must(t, os.Mkdir(filepath.Join(dir, "packages"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "packages/x"), make([]byte, 1<<20), 0o644)) // more than the pipe takes
	})
	before := openFiles(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Fatal("no panic: the test shows nothing")
			}
		}()
		_, _ = new(Installer).store(t.Context(), rootfs.PackageSet{Key: strings.Repeat("a", 64)}, box, nil) // without a store
	}()

	if now := openFiles(t); now > before {
		t.Errorf("%d files are open, and %d were before: the writer has not ended", now, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(files)
}

// PKG-13. A caller can compute the keys of other users' sets. Whether there is one is not told: neither in a
// list, nor by the error of a removal.
func TestSetsOfOthersAreNotTold(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "packages"), 0o755))
	key := func(c string) string { return strings.Repeat(c, 64) }
	for c, owner := range map[string]uint32{"a": 0, "b": 1000, "c": 1001} {
		text, err := json.Marshal(rootfs.PackageSet{Key: key(c), Owner: owner})
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "packages", key(c)), text, 0o644))
	}

	i := Installer{Store: rootfs.OpenReadOnly(dir), Removed: func() {}}
	caller := api.Caller{UID: 1000}
	absent, others := i.Remove(key("d"), caller), i.Remove(key("c"), caller)
	if !api.HasCode(others, api.CodeNotFound) ||
		strings.ReplaceAll(others.Error(), "c", "") != strings.ReplaceAll(strings.ReplaceAll(absent.Error(), "d", ""), "c", "") {
		t.Errorf("another user's set: %v\nnone: %v", others, absent)
	}
	if err := i.Remove(key("a"), caller); !api.HasCode(err, api.CodeForbidden) {
		t.Errorf("a set of root, which everybody sees: %v", err)
	}

	var reserved int64
	sets, err := i.Sets(caller, func(n int64) error { reserved += n; return nil })
	if err != nil || len(sets) != 2 || sets[0].Key == key("c") || sets[1].Key == key("c") || reserved == 0 {
		t.Errorf("%+v, %v, %d bytes reserved", sets, err, reserved)
	}
	if _, err := i.Sets(caller, func(int64) error { return context.Canceled }); err == nil {
		t.Error("a list is made without memory for it")
	}
}
