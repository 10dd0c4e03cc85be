package rootfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
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
