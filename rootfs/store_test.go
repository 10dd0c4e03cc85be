package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLookupErrorListsImages(t *testing.T) {
	s := newStore(t)
	_, err := s.Lookup("python")
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "no image is stored") ||
		!strings.Contains(err.Error(), "brig rootfs build python") {
		t.Errorf("Lookup in an empty store: %v", err)
	}
	if _, err := importTar(t, s, Options{Name: "mine"}, file("a", "")); err != nil {
		t.Fatal(err)
	}

	_, err = s.Lookup("yours")
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "stored: mine") || !strings.Contains(err.Error(), "brig rootfs import") {
		t.Errorf("Lookup(yours): %v", err)
	}
	if s.Has("yours") || !s.Has("mine") {
		t.Errorf("has yours %v, mine %v", s.Has("yours"), s.Has("mine"))
	}

	for _, bad := range []string{"", "../x", "/etc", "A", "sha256:12", "sha256:" + strings.Repeat("Z", 64), "a b", "-a",
		strings.Repeat("a", 129)} {
		if _, err := s.Lookup(bad); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("Lookup(%q): %v; want the name refused", bad, err)
		}
		if _, err := importTar(t, s, Options{Name: bad}, file("a", "")); err == nil && bad != "" {
			t.Errorf("Import as %q is accepted", bad)
		}
	}
}

func TestNamesMoveAndRemovingTheLastRemovesTheImage(t *testing.T) {
	s := newStore(t)
	first, err := importTar(t, s, Options{Name: "a"}, file("x", "1"))
	if err != nil {
		t.Fatal(err)
	}

	again, err := importTar(t, s, Options{Name: "b"}, file("x", "1"))
	if err != nil || again.Digest != first.Digest || !slices.Equal(again.Names, []string{"a", "b"}) {
		t.Fatalf("the same archive again: %+v, %v; want one image of two names", again, err)
	}

	second, err := importTar(t, s, Options{Name: "a"}, file("x", "2"))
	if err != nil || second.Digest == first.Digest {
		t.Fatal(second, err)
	}
	if img, err := s.Lookup("a"); err != nil || img.Digest != second.Digest {
		t.Errorf("Lookup(a) = %+v, %v; want the newer", img, err)
	}
	if err := s.Remove("b"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup(first.Digest); !errors.Is(err, ErrNotFound) {
		t.Errorf("an image without names is still there: %v", err)
	}
	if _, err := os.Stat(first.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its tree is still there: %v", err)
	}
	if err := s.Remove(second.Digest); err != nil {
		t.Fatal(err)
	}

	mustBeEmpty(t, s)
	if err := s.Remove("a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Remove(a) twice: %v", err)
	}
}

// A list of images may be out of date when it is used: an unnamed image may have got a name.
func TestRemoveUnnamedKeepsNamedImages(t *testing.T) {
	s := newStore(t)
	img, err := importTar(t, s, Options{}, file("x", "1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := importTar(t, s, Options{Name: "a"}, file("x", "1")); err != nil {
		t.Fatal(err)
	}
	if removed, err := s.RemoveUnnamed(img.Digest); removed || err != nil || !s.Has("a") {
		t.Errorf("removed %v, %v", removed, err)
	}

	other, err := importTar(t, s, Options{}, file("x", "2"))
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []bool{true, false} {
		if removed, err := s.RemoveUnnamed(other.Digest); removed != want || err != nil || s.Has(other.Digest) {
			t.Errorf("removed %v, %v; want %v", removed, err, want)
		}
	}
}

func TestLookupSeesAnotherProcessesChangesAtOnce(t *testing.T) {
	s := newStore(t)
	other, err := Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}

	for i := range 20 {
		want, err := importTar(t, other, Options{Name: "x"}, file("x", fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}

		for range 3 {
			got, err := s.Lookup("x")
			if err != nil || got.Digest != want.Digest {
				t.Fatalf("Lookup = %+v, %v; want %s", got, err, want.Digest)
			}
			if i%10 == 9 {
				time.Sleep(120 * time.Millisecond) // from here on Lookup uses its cache
			}
		}
	}

	if err := other.Remove("x"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup("x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Lookup after Remove: %v", err)
	}
}

func BenchmarkLookup(b *testing.B) {
	s := newStore(b)
	if _, err := importTar(b, s, Options{Name: "x"}, file("x", "")); err != nil {
		b.Fatal(err)
	}
	time.Sleep(150 * time.Millisecond)
	for b.Loop() {
		if _, err := s.Lookup("x"); err != nil {
			b.Fatal(err)
		}
	}
}

func waitFor(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}
