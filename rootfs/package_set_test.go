package rootfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// keyOf makes the key of a set.
func keyOf(c string) string { return strings.Repeat(c, 64) }

// addSet stores a set whose only file has size bytes, last used so long ago.
func addSet(t *testing.T, s *Store, key string, size int, ago time.Duration, maximum int64) PackageSet {
	t.Helper()
	text := tarOf(t, dir("packages"), file("packages/x", key+strings.Repeat("x", size-len(key))))
	set, err := s.AddPackageSet(t.Context(), bytes.NewReader(text), PackageSet{Key: key, Language: "python", Requirements: []string{"x"}},
		archive.Bounds{}, maximum)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-ago)
	if err := os.Chtimes(s.path("packages", key), at, at); err != nil {
		t.Fatal(err)
	}
	return set
}

func keysOf(t *testing.T, s *Store) (keys string) {
	t.Helper()
	sets, err := s.PackageSets()
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		keys += set.Key[:1]
	}
	return keys
}

func TestSetsOfPackages(t *testing.T) {
	s := newStore(t)
	made := addSet(t, s, keyOf("a"), 100, time.Hour, 1<<20)
	set, layer, err := s.PackageSet(made.Key)
	if err != nil || set.Size < 2*4096+packageSetFiles || set.Size > 3*4096+packageSetFiles || set.Entries != 2 || set.Language != "python" ||
		layer.Digest != set.Layer {
		t.Fatalf("%+v, %+v, %v", set, layer, err)
	}
	if text, err := os.ReadFile(filepath.Join(layer.Path, "packages/x")); err != nil || len(text) != 100 {
		t.Errorf("the set's file: %q, %v", text, err)
	}
	if again, _, err := s.PackageSet(made.Key); err != nil || time.Since(again.Used) > time.Minute {
		t.Errorf("used %v, %v: want now", again.Used, err)
	}
	if removed, err := s.RemoveUnusedLayers(); err != nil || len(removed) != 0 {
		t.Errorf("the layer of a set is removed as unused: %v, %v", removed, err)
	}

	for _, key := range []string{keyOf("b"), "", "../x", keyOf("A"), keyOf("a") + "a"} {
		if _, _, err := s.PackageSet(key); !errors.Is(err, ErrNoPackages) {
			t.Errorf("set %q: %v", key, err)
		}
	}

	if err := s.RemovePackageSet(made.Key); err != nil {
		t.Error(err)
	}
	if _, err := s.Layer(set.Layer); err == nil {
		t.Error("the layer of a removed set is still stored")
	}
	if err := s.RemovePackageSet(made.Key); !errors.Is(err, ErrNoPackages) {
		t.Errorf("removed twice: %v", err)
	}
}

// The sets that were used least recently make room, but not one that a cell uses.
func TestSetsOfPackagesAreBounded(t *testing.T) {
	s := newStore(t)
	maximum := 3*addSet(t, s, keyOf("a"), 1000, 4*time.Hour, 1<<20).Size + 500
	inUse := addSet(t, s, keyOf("b"), 1000, 3*time.Hour, maximum)
	addSet(t, s, keyOf("c"), 1000, 2*time.Hour, maximum)
	layer, err := s.Layer(inUse.Layer)
	if err != nil {
		t.Fatal(err)
	}

	lock, err := s.LockLayer(layer)
	if err != nil {
		t.Fatal(err)
	}

	addSet(t, s, keyOf("d"), 1000, time.Hour, maximum)
	if got := keysOf(t, s); got != "bcd" {
		t.Errorf("sets %s; want the oldest to be gone", got)
	}

	addSet(t, s, keyOf("e"), 1000, 0, maximum*2/3)
	if got := keysOf(t, s); got != "be" {
		t.Errorf("sets %s; want the one in use and the new one", got)
	}
	if removed, err := lock.Close(); removed || err != nil {
		t.Errorf("the set in use was removed: %v, %v", removed, err)
	}
}

// PKG-10. A set that is removed while a cell uses it stays complete until the cell ends.
func TestARemovedSetServesItsCells(t *testing.T) {
	s := newStore(t)
	set := addSet(t, s, keyOf("a"), 100, 0, 1<<20)
	layer, err := s.Layer(set.Layer)
	if err != nil {
		t.Fatal(err)
	}

	lock, err := s.LockLayer(layer)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RemovePackageSet(set.Key); err != nil {
		t.Fatal(err)
	}

	trees, err := lock.Trees()
	if err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d/packages/x", trees[0].Fd()))
	if err != nil || len(text) != 100 {
		t.Errorf("the file of a removed set: %d bytes, %v", len(text), err)
	}

	trees[0].Close()
	if removed, err := lock.Close(); !removed || err != nil {
		t.Errorf("removed %v, %v", removed, err)
	}
	if err := s.Clean(); err != nil {
		t.Error(err)
	}
}

// PKG-09. What a killed agent leaves of a set is no set, and a set without its files is removed.
func TestHalfOfASetIsNoSet(t *testing.T) {
	s := newStore(t)
	cut := tarOf(t, dir("packages"), file("packages/x", "hello"))[:600]
	if _, err := s.AddPackageSet(t.Context(), bytes.NewReader(cut), PackageSet{Key: keyOf("a")}, archive.Bounds{}, 1<<20); err == nil {
		t.Error("half of an archive is stored as a set")
	}

	set := addSet(t, s, keyOf("b"), 100, 0, 1<<20)
	if err := os.RemoveAll(s.path("layers", strings.TrimPrefix(set.Layer, "sha256:"))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.PackageSet(set.Key); !errors.Is(err, ErrNoPackages) {
		t.Errorf("a set without files: %v", err)
	}
	if _, err := Open(s.dir); err != nil {
		t.Fatal(err)
	}
	if got := keysOf(t, s); got != "" {
		t.Errorf("sets %q after a start", got)
	}
}

// The same files under two keys are stored once, and go with the last of them.
func TestSetsShareFiles(t *testing.T) {
	s := newStore(t)
	text := tarOf(t, dir("packages"), file("packages/x", "hello"))
	for _, c := range []string{"a", "b", "a"} {
		if _, err := s.AddPackageSet(t.Context(), bytes.NewReader(text), PackageSet{Key: keyOf(c)}, archive.Bounds{}, 1<<20); err != nil {
			t.Fatal(err)
		}
	}

	for _, c := range []string{"a", "b"} {
		if layers, err := s.Layers(); err != nil || len(layers) != 1 {
			t.Errorf("%d layers, %v; want one", len(layers), err)
		}
		if err := s.RemovePackageSet(keyOf(c)); err != nil {
			t.Fatal(err)
		}
	}

	if layers, err := s.Layers(); err != nil || len(layers) != 0 {
		t.Errorf("%d layers, %v; want none", len(layers), err)
	}
}
