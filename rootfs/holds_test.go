package rootfs

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// IMG-46: no clean-up and no removal of another image takes a layer from a pull under way; a pull that
// gives up frees its own; and after an hour a layer without an image goes.
func TestLayersOfAPullAreHeld(t *testing.T) {
	s := newStore(t)
	stored := func(digest string, want bool) {
		t.Helper()
		if _, err := s.RemoveUnusedLayers(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Layer(digest); (err == nil) != want {
			t.Errorf("after a clean-up: %v; want the layer stored: %v", err, want)
		}
	}

	import1 := func() string { return importLayers(t, s, members{file("x", "1")})[0] }
	add := func(name string, digest string) {
		t.Helper()
		if _, err := s.AddImage(t.Context(), Spec{Layers: []string{digest}}, name); err != nil {
			t.Fatal(err)
		}
	}

	remove := func(name string) {
		t.Helper()
		if err := s.Remove(name); err != nil {
			t.Fatal(err)
		}
	}

	d := import1() // by one pull
	stored(d, true)
	import1() // and by another, at the same time
	add("one", d)
	remove("one")
	stored(d, true) // for the other
	add("two", d)
	stored(d, true)
	remove("two")
	stored(d, false) // with its last image

	import1()
	import1()
	if err := s.Abandon(d); err != nil {
		t.Fatal(err)
	}

	stored(d, true) // the other import holds it
	add("three", d)
	import1()
	if err := s.Abandon(d); err != nil {
		t.Fatal(err)
	}

	stored(d, true) // an image has it
	remove("three")
	stored(d, false)
	if err := s.Abandon(d); !errors.Is(err, ErrNoLayer) {
		t.Errorf("%v; want ErrNoLayer", err)
	}

	import1()
	if now := time.Now(); !s.holds.has(d, now.Add(59*time.Minute)) || s.holds.has(d, now.Add(61*time.Minute)) {
		t.Error("want a hold for an hour")
	}
	if err := s.Abandon(d); err != nil {
		t.Fatal(err)
	}

	stored(d, false)
}

// IMG-46: an image whose layer is removed while it is stored is refused with the reason.
func TestLayersRemovedWhileAnImageIsStored(t *testing.T) {
	s := newStore(t)
	d := importLayers(t, s, members{file("x", "1")})
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() { // another pull and removal of the same layer, again and again
		for {
			select {
			case <-stop:
				return
			default:
			}

			if _, err := s.AddImage(t.Context(), Spec{Layers: d, Config: Config{Cmd: []string{"other"}}}, "other"); err != nil &&
				!errors.Is(err, ErrNoLayer) {
				t.Error(err)
			}
			if err := s.Remove("other"); err != nil && !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}

			importLayers(t, s, members{file("x", "1")})
		}
	})

	added, missing := 0, 0
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		_, err := s.AddImage(t.Context(), Spec{Layers: d}, "mine")
		switch {
		case err == nil:
			added++
			if err := s.Remove("mine"); err != nil && !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
		case errors.Is(err, ErrNoLayer):
			missing++
		default:
			t.Error(err)
		}
	}

	close(stop)
	group.Wait()
	t.Logf("%d added, %d without their layer", added, missing)
}

// IMG-47: an image that is stored a second time under another name keeps its first origin, and each name
// has its own.
func TestEachNameHasItsOrigin(t *testing.T) {
	s := newStore(t)
	d := importLayers(t, s, members{file("x", "1")})
	for name, reference := range map[string]string{"one": "example.org/base:1", "two": "evil.example/other:1"} {
		if _, err := s.AddImage(t.Context(), Spec{Layers: d, Origin: Origin{Reference: reference}}, name); err != nil {
			t.Fatal(err)
		}
		if img, err := s.Lookup(name); err != nil || img.Origins[name].Reference != reference {
			t.Errorf("%s: %+v, %v", name, img.Origins, err)
		}
	}

	if _, err := s.AddImage(t.Context(), Spec{Layers: d, Origin: Origin{Reference: "example.org/base:2"}}, "one"); err != nil {
		t.Fatal(err)
	}

	img, err := s.Lookup("two")
	if err != nil || img.Origins["one"].Reference != "example.org/base:2" || img.Origins["two"].Reference != "evil.example/other:1" {
		t.Errorf("%+v, %v", img.Origins, err)
	}
	if err := s.Remove("one"); err != nil {
		t.Fatal(err)
	}
	if img, err := s.Lookup("two"); err != nil || len(img.Origins) != 1 {
		t.Errorf("%+v, %v; want the origin of the name that is left", img.Origins, err)
	}
}
