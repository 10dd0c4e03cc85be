package rootfs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestVerifyNamesWhatDiffersFromTheImport(t *testing.T) {
	s := newStore(t)
	img, err := importTar(t, s, Options{Name: "x"},
		file("usr/same", "1"), file("usr/content", "2"), file("usr/mode", "3"), file("usr/time", "4"),
		file("usr/gone", "5"), symlink("usr/link", "same"), file("usr/a \"quoted\"\nname", "6"))
	if err != nil {
		t.Fatal(err)
	}

	v, err := s.Verify(t.Context(), "x")
	if err != nil || !v.OK() || v.Amount.Entries < 7 || v.Amount.Unpacked < 6 {
		t.Fatalf("before: %+v, %v; want nothing amiss", v, err)
	}

	at := func(name string) string { return filepath.Join(img.Path, name) }
	then := time.Unix(0, 0)
	for _, err := range []error{
		os.WriteFile(at("usr/content"), []byte("x"), 0o644), os.Chtimes(at("usr/content"), then, then),
		os.Chmod(at("usr/mode"), 0o4755),
		os.Chtimes(at("usr/time"), then, then.Add(time.Hour)),
		os.Remove(at("usr/gone")),
		os.Remove(at("usr/link")), os.Symlink("/etc/passwd", at("usr/link")),
		os.WriteFile(at("usr/new"), nil, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	v, err = s.Verify(t.Context(), img.Digest)
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"changed", v.Changed, []string{"usr/content", "usr/link", "usr/mode", "usr/time"}},
		{"missing", v.Missing, []string{"usr/gone"}},
		{"extra", v.Extra, []string{"usr/new"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s %q; want %q", c.what, c.got, c.want)
		}
	}
}

// What VerifyMetadata compares. It reads no file: bytes that the disk changed are found by Verify alone.
func TestVerifyMetadata(t *testing.T) {
	s := newStore(t)
	img, err := importTar(t, s, Options{Name: "x"}, file("usr/same", "1"), file("usr/rotten", "2"), file("usr/size", "3"),
		file("usr/mode", "4"), file("usr/gone", "5"))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.VerifyMetadata(t.Context(), img); err != nil || !v.OK() {
		t.Fatalf("before: %+v, %v", v, err)
	}

	at := func(name string) string { return filepath.Join(img.Path, name) }
	before, err := os.Stat(at("usr/rotten"))
	if err != nil {
		t.Fatal(err)
	}

	then := before.ModTime()
	for _, err := range []error{
		os.WriteFile(at("usr/rotten"), []byte("x"), 0o644), os.Chtimes(at("usr/rotten"), then, then),
		os.Truncate(at("usr/size"), 0), os.Chtimes(at("usr/size"), then, then),
		os.Chmod(at("usr/mode"), 0o700),
		os.Remove(at("usr/gone")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	v, err := s.VerifyMetadata(t.Context(), img)
	if err != nil || !slices.Equal(v.Changed, []string{"usr/mode", "usr/size"}) ||
		!slices.Equal(v.Missing, []string{"usr/gone"}) || len(v.Extra) > 0 {
		t.Errorf("found %+v, %v", v, err)
	}
}

func TestVerifyRejectsAChangedRecord(t *testing.T) {
	s := newStore(t)
	img, err := importTar(t, s, Options{Name: "x"}, file("usr/x", "1"))
	if err != nil {
		t.Fatal(err)
	}

	record := filepath.Join(filepath.Dir(img.Path), recordName)
	for _, err := range []error{os.WriteFile(record, []byte("\"usr\" \n"), 0o644), os.Remove(record)} {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Verify(t.Context(), "x"); !errors.Is(err, ErrNoRecord) {
			t.Errorf("Verify: %v; want ErrNoRecord", err)
		}
	}
}

// A cancelHook is a context that calls then at the first call of Err.
type cancelHook struct {
	context.Context
	then func()
	once sync.Once
}

func (w *cancelHook) Err() error {
	w.once.Do(w.then)
	return w.Context.Err()
}

// If an image is removed during its verification, Verify reports that it does not exist, and not
// that it is damaged; its tree is removed.
func TestVerifyOfAnImageRemovedMeanwhile(t *testing.T) {
	s := newStore(t)
	if _, err := importTar(t, s, Options{Name: "x"}, file("a", "1"), file("b", "2")); err != nil {
		t.Fatal(err)
	}

	removed := errors.New("never asked")
	ctx := &cancelHook{Context: t.Context(), then: func() { removed = s.Remove("x") }}
	v, err := s.Verify(ctx, "x")
	if removed != nil || !errors.Is(err, ErrNotFound) || !v.OK() {
		t.Errorf("%+v, %v; the removal said %v", v, err, removed)
	}
	if left, err := filepath.Glob(s.path("work", "*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}
