package rootfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/flock"
)

// IMG-52: links that lead through many parts are followed up to a bound, whose answer is kept and ends
// with the request. The control is a chain of links within the bound.
func TestHostileLinksAreCheap(t *testing.T) {
	s := newStore(t)
	chain := func(links, parts int) members {
		ms := members{dir("a"), file("end", "")}
		for i := range links {
			next := fmt.Sprintf("k%d", i+1)
			if i == links-1 {
				next = "end"
			}
			ms = append(ms, symlink(fmt.Sprintf("k%d", i), strings.Repeat("a/../", parts)+next))
		}
		return ms
	}

	for _, tt := range []struct {
		name string
		top  members
		has  bool
	}{
		{"hostile", chain(40, 800), false},
		{"one long link", chain(1, 800), false},
		{"control", chain(39, 4), true},
	} {
		img, err := s.AddImage(t.Context(), Spec{Layers: importLayers(t, s, members{dir("a"), file("low", tt.name)}, tt.top)}, "")
		if err != nil {
			t.Fatal(err)
		}

		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := img.Has(gone, "k0"); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v; want a look-up to end with its request", tt.name, err)
		}

		before := len(s.found.known)
		for range 2 {
			if has, err := img.Has(t.Context(), "/k0"); err != nil || has != tt.has {
				t.Errorf("%s: %v, %v; want %v", tt.name, has, err, tt.has)
			}
		}

		if len(s.found.known) != before+1 {
			t.Errorf("%s: %d answers were added; want one", tt.name, len(s.found.known)-before)
		}
	}
}

// IMG-53: the error for a name that is not stored names what is stored, and reads no file of an image.
// Neither does a second list of all images.
func TestUnknownNamesAreCheap(t *testing.T) {
	s := newStore(t)
	layers := importLayers(t, s, members{file("x", "1")})
	for i := range 12 {
		if _, err := s.AddImage(t.Context(), Spec{Layers: layers, Config: Config{User: fmt.Sprint(i)}}, fmt.Sprintf("n%02d", i)); err != nil {
			t.Fatal(err)
		}
	}

	time.Sleep(200 * time.Millisecond) // see Store.state
	before, err := s.List()
	if err != nil {
		t.Fatal(err)
	}

	for _, pattern := range []string{"images/*/image.json", "layers/*/layer.json"} {
		files, err := filepath.Glob(filepath.Join(s.dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, f := range files {
			if err := os.WriteFile(f, []byte("no JSON"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}

	if _, err := s.Lookup("nothing"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "stored: n00, n01") ||
		!strings.Contains(err.Error(), "n09, and 2 more") {
		t.Errorf("%v; want the names that are stored", err)
	}
	if after, err := s.List(); err != nil || len(before) != 12 || !reflect.DeepEqual(after, before) {
		t.Errorf("%d images, %v; want the %d that were read before", len(after), err, len(before))
	}
}

// IMG-56: while the tree of a removed image is deleted, the store's lock is free for others.
func TestRemovalsDoNotHoldTheLock(t *testing.T) {
	s := newStore(t)
	var ms members
	for i := range 30 {
		ms = append(ms, file(fmt.Sprintf("%d/%sf", i, strings.Repeat("a/", 120)), ""))
	}

	deletes := func(t *testing.T, name string, remove func() error) (free bool) {
		if name != "two" {
			if _, err := importTar(t, s, Options{Name: name}, ms...); err != nil {
				t.Fatal(err)
			}
		} else {
			importLayers(t, s, ms)
			s.holds = holds{} // as an hour later
		}

		if name == "many" { // as a process leaves it that is killed while it removes
			img, err := s.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Mkdir(s.path("work", "dead"), 0o755),
				os.Rename(filepath.Dir(img.Path), s.path("work", "dead", "gone"))); err != nil {
				t.Fatal(err)
			}
		}

		done := make(chan error, 1)
		go func() { done <- remove() }()
		for ended := false; !ended; time.Sleep(time.Millisecond) {
			lock, err := os.OpenFile(s.path("lock"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if flock.Try(lock) == nil {
				left, err := filepath.Glob(s.path("work", "*", "gone", "root", "*"))
				free = free || err == nil && len(left) > 0 && len(left) < len(ms) // half deleted
			}

			lock.Close()
			select {
			case err := <-done:
				if ended = true; err != nil {
					t.Errorf("%s: %v", name, err)
				}
			default:
			}
		}

		return free
	}

	for name, remove := range map[string]func() error{
		"one":  func() error { return s.Remove("one") },
		"two":  func() error { _, err := s.RemoveUnusedLayers(); return err },
		"many": func() error { return s.Clean() },
	} {
		free := false
		for try := 0; try < 10 && !free; try++ { // on a busy machine the tree may be gone before anybody looks
			free = deletes(t, name, remove)
		}
		if !free {
			t.Errorf("%s: nobody could lock the store while the tree was deleted", name)
		}
	}
}
