package rootfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/rootfs/archive"
	"github.com/brig-sandbox/brig/rootfs/archive/archivetest"
)

// PKG-12. The owner who has most makes room: a user who has more and more packages installed removes its own
// sets, and none of a user who has less. Sets in use stay, and a new set that does not fit is refused.
func TestMakeRoom(t *testing.T) {
	now := time.Now()
	set := func(name string, owner uint32, size int64) PackageSet {
		return PackageSet{Key: name, Owner: owner, Size: size, Created: now}
	}
	stale := set("stale", 1, 1)
	stale.Created = now.Add(-PackagesLife - time.Hour)
	pinned := stale
	pinned.Key, pinned.Pinned = "pinned", true
	maximum := packageBounds{100, 5}
	for name, tt := range map[string]struct {
		sets   []PackageSet // the least recently used one first
		fresh  PackageSet
		used   string
		remove string
		err    error
	}{
		"there is room":           {[]PackageSet{set("a", 1, 40)}, set("x", 1, 60), "", "", nil},
		"the oldest":              {[]PackageSet{set("a", 1, 40), set("b", 1, 40)}, set("x", 1, 60), "", "a", nil},
		"in use":                  {[]PackageSet{set("a", 1, 40), set("b", 1, 40)}, set("x", 1, 60), "a", "b", nil},
		"several":                 {[]PackageSet{set("a", 1, 30), set("b", 1, 30), set("c", 1, 30)}, set("x", 1, 60), "", "a b", nil},
		"its own, though newer":   {[]PackageSet{set("a", 2, 40), set("b", 1, 40)}, set("x", 1, 30), "", "b", nil},
		"of another who has more": {[]PackageSet{set("a", 2, 40), set("b", 2, 40), set("c", 1, 10)}, set("x", 1, 20), "", "a", nil},
		"not of one who has less": {[]PackageSet{set("a", 2, 40), set("b", 1, 50)}, set("x", 1, 30), "b", "", ErrPackagesFull},
		"all in use":              {[]PackageSet{set("a", 1, 60)}, set("x", 1, 60), "a", "", ErrPackagesFull},
		"larger than all may be":  {nil, set("x", 1, 101), "", "", archive.ErrTooLarge},
		"replaced":                {[]PackageSet{set("x", 1, 90), set("b", 1, 10)}, set("x", 1, 90), "x", "", nil},
		"too many": {[]PackageSet{set("a", 1, 1), set("b", 2, 1), set("c", 2, 1), set("d", 2, 1), set("e", 1, 1)},
			set("x", 1, 1), "", "a", nil},
		"too many, of another": {[]PackageSet{set("a", 1, 1), set("b", 2, 1), set("c", 2, 1), set("d", 2, 1), set("e", 2, 1)},
			set("x", 1, 1), "", "b", nil},
		"stale ones without a need":  {[]PackageSet{stale, pinned}, set("x", 2, 1), "", "stale", nil},
		"a stale one that is in use": {[]PackageSet{stale}, set("x", 2, 1), "stale", "", nil},
	} {
		gone, err := makeRoom(tt.sets, tt.fresh, maximum, func(p PackageSet) bool { return p.Key == tt.used })
		var names []string
		for _, p := range gone {
			names = append(names, p.Key)
		}
		if got := strings.Join(names, " "); got != tt.remove || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
			t.Errorf("%s: removes %q, %v; want %q, %v", name, got, err, tt.remove, tt.err)
		}
	}
}

// PKG-12. What counts is what a set takes on disk: empty files, links and the record have names, inodes and
// blocks.
func TestEmptyFilesCount(t *testing.T) {
	s := newStore(t)
	members := archivetest.Members{dir("packages"), file("packages/one", "1")}
	for i := range 500 {
		members = append(members, file(fmt.Sprintf("packages/%0200d", i), ""), symlink(fmt.Sprintf("packages/l%d", i), "one"))
	}

	text := tarOf(t, members...)
	set, err := s.AddPackageSet(t.Context(), bytes.NewReader(text), PackageSet{Key: keyOf("a")}, archive.Bounds{}, 1<<30)
	if minimum := int64(1002*4096 + 500*200); err != nil || set.Size < minimum || set.Size > 2*minimum {
		t.Errorf("a set of 1,000 empty files and links: %d bytes, %v; want at least %d", set.Size, err, minimum)
	}
	if _, err := s.AddPackageSet(t.Context(), bytes.NewReader(text), PackageSet{Key: keyOf("b")}, archive.Bounds{},
		set.Size-1); !errors.Is(err, archive.ErrTooLarge) {
		t.Errorf("it does not fit, and: %v", err)
	}
}

// A set that does not fit next to those in use is refused, changes nothing, and leaves no layer.
func TestARefusedSetLeavesNothing(t *testing.T) {
	s := newStore(t)
	used := addSet(t, s, keyOf("a"), 1000, time.Hour, 1<<20)
	layer, err := s.Layer(used.Layer)
	if err != nil {
		t.Fatal(err)
	}

	lock, err := s.LockLayer(layer)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()

	add := func() error {
		text := tarOf(t, dir("packages"), file("packages/y", "y"))
		_, err := s.AddPackageSet(t.Context(), bytes.NewReader(text), PackageSet{Key: keyOf("b")}, archive.Bounds{}, used.Size+1)
		return err
	}
	if err := add(); !errors.Is(err, ErrPackagesFull) {
		t.Errorf("a set next to one in use: %v", err)
	}
	if err := os.Rename(s.path("packages"), s.path("elsewhere")); err != nil {
		t.Fatal(err)
	}
	if err := add(); err == nil {
		t.Error("a set is stored without a place for its file")
	}
	if err := os.Rename(s.path("elsewhere"), s.path("packages")); err != nil {
		t.Fatal(err)
	}
	if got := keysOf(t, s); got != "a" {
		t.Errorf("sets %q", got)
	}
	if layers, err := s.Layers(); err != nil || len(layers) != 1 {
		t.Errorf("%d layers, %v; want that of the set in use", len(layers), err)
	}
}

// PKG-12. However many sets make room, what the store has is read a few times, and not once for each of them:
// the store's lock is held meanwhile.
func TestManySetsMakeRoomAtOnce(t *testing.T) {
	const sets = 300
	s := newStore(t)
	first := addSet(t, s, keyOf("f"), 100, time.Hour, 1<<20)
	for i := range sets {
		set := first
		set.Key = fmt.Sprintf("%064x", i)
		text, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.path("packages", set.Key), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	addSet(t, s, keyOf("e"), 200, 0, 10*first.Size)
	runtime.ReadMemStats(&after)
	left, err := s.PackageSets()
	if err != nil || len(left) > 10 {
		t.Errorf("%d sets are left, %v; want at most 10", len(left), err)
	}
	if n := after.Mallocs - before.Mallocs; n > 2000*sets {
		t.Errorf("%d allocations to remove %d sets; want a fixed number for each", n, sets)
	}
}
