package rootfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/flock"
)

// The lock on an image keeps its tree, also between the image's removal and the next import of the
// same archive.
func TestLockedImageKeepsItsTree(t *testing.T) {
	s := newStore(t)
	img, err := importTar(t, s, Options{Name: "a"}, file("x", "1"))
	if err != nil {
		t.Fatal(err)
	}

	h, err := s.LockImage(img)
	if err != nil {
		t.Fatal(err)
	}

	before, err := os.Stat(img.Path)
	if err != nil {
		t.Fatal(err)
	}

	for _, step := range []func() error{
		func() error { return nil },
		func() error { return s.Remove("a") },
		func() error { _, err := importTar(t, s, Options{Name: "a"}, file("x", "1")); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		trees, err := h.Trees()
		if err != nil {
			t.Fatal(err)
		}
		now, err := trees[0].Stat()
		if err = errors.Join(err, trees[0].Close()); err != nil || !os.SameFile(before, now) {
			t.Errorf("another tree, %v", err)
		}
	}

	if removed, err := h.Close(); !removed || err != nil {
		t.Errorf("removed %v, %v", removed, err)
	}
	if err := s.Clean(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(s.path("work", "*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// An installation that looks whether a layer is in use locks it for a moment. A cell that starts meanwhile
// waits, and does not find the layer removed.
func TestALockOutlastsAQuestion(t *testing.T) {
	s := newStore(t)
	set := addSet(t, s, keyOf("a"), 100, 0, 1<<20)
	layer, err := s.Layer(set.Layer)
	if err != nil {
		t.Fatal(err)
	}

	asked, err := os.Open(filepath.Dir(layer.Path))
	if err != nil {
		t.Fatal(err)
	}
	if err := flock.Try(asked); err != nil {
		t.Fatal(err)
	}

	time.AfterFunc(20*time.Millisecond, func() { asked.Close() })
	lock, err := s.LockLayer(layer)
	if err != nil {
		t.Fatal(err)
	}
	if !s.inUse(set) {
		t.Error("the layer is not locked")
	}
	if removed, err := lock.Close(); removed || err != nil {
		t.Errorf("removed %v, %v", removed, err)
	}
}
