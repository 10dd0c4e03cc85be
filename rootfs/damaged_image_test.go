package rootfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestImportReplacesADamagedRecord(t *testing.T) {
	s := newStore(t)
	img, err := importTar(t, s, Options{Name: "x"}, file("x", "1"))
	if err != nil {
		t.Fatal(err)
	}

	record := filepath.Join(filepath.Dir(img.Path), "image.json")
	for _, damage := range []func() error{
		func() error { return os.Remove(record) },
		func() error { return os.WriteFile(record, []byte("{"), 0o644) },
		func() error { return os.WriteFile(record, []byte("{\"digest\":\"sha256:00\"}"), 0o644) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if again, err := importTar(t, s, Options{Name: "x"}, file("x", "1")); err != nil || again.Digest != img.Digest {
			t.Errorf("Import over a damaged record = %+v, %v", again, err)
		}
	}
}

// An import keeps an undamaged stored image and replaces a damaged one, even while programs use it:
// these keep the old tree.
func TestImportReplacesADamagedTree(t *testing.T) {
	s := newStore(t)
	again := func() Image {
		t.Helper()
		img, err := importTar(t, s, Options{Name: "x"}, file("usr/x", "1"), file("usr/y", "2"))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := s.Verify(t.Context(), "x"); err != nil || !v.OK() {
			t.Fatalf("after the import: %+v, %v", v, err)
		}
		return img
	}

	first := again()
	if img := again(); img.Replaced || first.Replaced || !img.Imported.Equal(first.Imported) {
		t.Errorf("a sound image is replaced: %+v", img)
	}

	x, record := filepath.Join(first.Path, "usr/x"), filepath.Join(filepath.Dir(first.Path), recordName)
	for _, damage := range []func() error{
		func() error { return os.WriteFile(x, []byte("another"), 0o644) },
		func() error { return os.Remove(x) },
		func() error { return os.WriteFile(filepath.Join(first.Path, "usr/z"), nil, 0o644) },
		func() error { return os.Remove(record) },
	} {
		held, err := s.LockImage(first)
		if err != nil {
			t.Fatal(err)
		}
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if img := again(); !img.Replaced {
			t.Error("Replaced is false for an image that was damaged")
		}
		if text, err := os.ReadFile(x); err != nil || string(text) != "1" {
			t.Errorf("%q, %v", text, err)
		}
		if removed, err := held.Close(); !removed || err != nil {
			t.Errorf("close of the damaged image: removed %v, %v", removed, err)
		}
		if err := s.Clean(); err != nil {
			t.Error(err)
		}
	}
}

// While a damaged image is replaced, there is an image at its path at every moment: a process
// killed meanwhile loses neither the image nor its names, and a new run finds it.
func TestADamagedImageIsReplacedAtomically(t *testing.T) {
	s := newStore(t)
	img, err := importTar(t, s, Options{Name: "x"}, file("usr/x", "1"))
	if err != nil {
		t.Fatal(err)
	}

	home := filepath.Dir(img.Path)
	done, missed := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-done:
				missed <- n
				return
			default:
				if _, err := os.Lstat(home); err != nil {
					n++
				}
			}
		}
	}()

	for range 300 {
		w, err := s.newStagingDir()
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"root", "image.json", recordName} {
			if err := os.Mkdir(filepath.Join(w.Path, part), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(s.install(w, s.path("images", filepath.Base(home)), "image.json"), w.Close()); err != nil {
			t.Fatal(err)
		}
	}

	close(done)
	if n := <-missed; n > 0 {
		t.Errorf("there was none %d times", n)
	}
}
