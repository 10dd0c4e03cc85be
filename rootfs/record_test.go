package rootfs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs/archive"
)

// PKG-11. The names of a tree, which a hostile package chose, are quoted in its record: 16 MiB of them are
// 64 MiB of text. Neither its writing nor its comparison holds them.
func TestRecordsTakeLittleMemory(t *testing.T) {
	testenv.NeedRoot(t)
	s := newStore(t)
	w, err := s.newStagingDir()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	deep := filepath.Join(w.Path, "root", strings.TrimSuffix(strings.Repeat(strings.Repeat("\x01", 250)+"/", 11), "/"))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}

	const files = 6000
	sums := archive.Sums{}
	for i := range files {
		if err := os.WriteFile(filepath.Join(deep, fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	var sum string
	var size int64
	peak := peakHeap(func() {
		if sum, size, err = w.record(t.Context(), sums); err != nil {
			t.Error(err)
			return
		}
		c, err := compareTree(t.Context(), w.Path, sum, comparing{})
		if err != nil || c.differs() {
			t.Errorf("the tree and its record: %+v, %v", c, err)
		}
	})

	if size < 60<<20 {
		t.Fatalf("a record of %d bytes shows nothing", size)
	}

	t.Logf("a record of %d MiB took %d MiB", size>>20, peak>>20)
	if peak > 32<<20 { // half of it
		t.Errorf("a record of %d MiB took %d MiB of memory", size>>20, peak>>20)
	}
}

// peakHeap returns by how much the heap grows while do works, garbage included.
func peakHeap(do func()) uint64 {
	heap := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}

	before := heap()
	var maximum atomic.Uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				maximum.Store(max(maximum.Load(), heap()))
			}
		}
	}()

	do()
	close(stop)
	<-done
	return uint64(math.Max(0, float64(maximum.Load())-float64(before)))
}

// Names are compared in the order in which a walk finds them.
func TestWalkOrder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/b/c", "a.b/x", "a-/y", "a b", "\x01x", "-x/y", ".a", "a/b.c", "a/b-/z", "aa", "usr/lib/x",
		"usr/lib64/x", "\xff\xfe", "!"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	var names []string
	err := walkRecord(t.Context(), dir, func(path string) (string, int64, error) { return describeMember(path, nil) },
		func(m recorded, _ int64) error {
			names = append(names, m.name)
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(names, walkOrder) {
		t.Errorf("%q is not in order", names)
	}

	slices.Reverse(names)
	slices.SortFunc(names, walkOrder)
	if names[0] != "." || len(slices.Compact(names)) != len(names) {
		t.Errorf("%q: two names are equal, or the root is not the first", names)
	}
}

// EnsureWorkspace adds its line at the end of the record, after names that a walk finds later.
func TestALineOutOfPlaceIsFound(t *testing.T) {
	testenv.NeedRoot(t)
	s := newStore(t)
	img, err := importTar(t, s, Options{Name: "x"}, file("zzz", "1"))
	if err != nil {
		t.Fatal(err)
	}

	dir := filepath.Dir(img.Path)
	if err := os.Remove(filepath.Join(img.Path, "workspace")); err != nil {
		t.Fatal(err)
	}

	meta, err := readMeta(dir, strings.TrimPrefix(img.Digest, "sha256:"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, recordName)); err != nil {
		t.Fatal(err)
	}

	w := &StagingDir{Path: dir}
	if meta.Record, _, err = w.record(t.Context(), nil); err == nil {
		err = os.Remove(filepath.Join(dir, "image.json"))
	}
	if err == nil {
		err = w.writeMeta(meta)
	}
	if err == nil {
		err = s.EnsureWorkspace(img.Digest)
	}
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Verify(t.Context(), "x"); err != nil || !v.OK() {
		t.Errorf("%+v, %v", v, err)
	}
	if err := os.Chmod(filepath.Join(img.Path, "workspace"), 0o700); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Verify(t.Context(), "x"); err != nil || !slices.Equal(v.Changed, []string{"workspace"}) || len(v.Missing)+len(v.Extra) > 0 {
		t.Errorf("changed: %+v, %v", v, err)
	}
}
