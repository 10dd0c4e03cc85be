package images

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	saved "github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// IMG-45: of an image that is refused nothing stays: no layer in the store, and no download. One whose
// configuration no run could use is refused before a layer is fetched. The control is the same image
// without the fault.
func TestRefusedImagesLeaveNothing(t *testing.T) {
	a := harness.StartAgentWith(t, harness.PublicDir(t, "brig-refused-"), "--slots", "1")
	var blobs atomic.Int64
	next := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			blobs.Add(1)
		}
		next.ServeHTTP(w, r)
	}))

	defer server.Close()

	first := tarOf(t, textFile("first", strings.Repeat("x", 100_000), 0o644))
	second := tarOf(t, textFile("second", "y", 0o644))
	outside := tarOf(t, textFile("../out", "x", 0o644))
	for _, tt := range []struct {
		name  string
		img   v1.Image
		blobs int64 // asked for: the configuration, and layers
		fails string
	}{
		{"control", layersOf(t, v1.Config{Env: []string{"A=B"}}, first, second), 3, ""},
		{"environment", layersOf(t, v1.Config{Env: []string{"A=B", "NOEQUALS"}}, first, second), 1, "NOEQUALS"},
		{"outside", layersOf(t, v1.Config{}, first, outside, second), 4, "../out"},
		{"hidden", layersOf(t, v1.Config{}, tarOf(t, textFile("a", "a file", 0o644)), tarOf(t, textFile("a/b", "below it", 0o644))), 3, "a"},
	} {
		blobs.Store(0)
		reference := push(t, server, "i:"+tt.name, tt.img)
		out, err := a.Brig(t, []string{"SUDO_UID="}, "rootfs", "pull", reference, "--name", "i")
		if (err == nil) != (tt.fails == "") || !strings.Contains(out, tt.fails) || blobs.Load() > tt.blobs {
			t.Errorf("%s: %v, %d blobs asked for; want at most %d, and %q\n%s", tt.name, err, blobs.Load(), tt.blobs, tt.fails, out)
		}

		archive := filepath.Join(t.TempDir(), "saved.tar")
		if err := saved.WriteToFile(archive, name.MustParseReference("i:1"), tt.img); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			if out, err := a.Brig(t, nil, "rootfs", "rm", "i"); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}
		if out, ierr := a.Brig(t, []string{"SUDO_UID="}, "rootfs", "import", archive, "--name", "i"); (ierr == nil) != (err == nil) {
			t.Errorf("%s, from a file: %v\n%s", tt.name, ierr, out)
		} else if ierr == nil {
			a.Brig(t, nil, "rootfs", "rm", "i") //nolint:errcheck // seen below
		}

		layers, err := a.Layers(t.Context())
		if err != nil || len(layers) != 0 {
			t.Errorf("%s: %d layers are left, %v", tt.name, len(layers), err)
		}

		all, err := tt.img.Layers()
		if err != nil {
			t.Fatal(err)
		}

		for _, l := range all {
			digest, _ := l.Digest()
			if _, err := os.Stat("/var/cache/brig/downloads/sha256-" + digest.Hex + ".partial"); err == nil {
				t.Errorf("%s: the download %.19s is left", tt.name, digest)
			}
		}
	}
}

// IMG-46: a clean-up and the removal of another image, while an image is pulled, take nothing from it that
// is not sent again.
func TestLayersRemovedDuringAPull(t *testing.T) {
	a := harness.StartAgentWith(t, harness.PublicDir(t, "brig-race-"), "--slots", "1")
	next := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	shared, more := tarOf(t, textFile("shared", "x", 0o644)), tarOf(t, textFile("more", "y", 0o644))
	one, two := layersOf(t, v1.Config{}, shared), layersOf(t, v1.Config{}, shared, more)
	second, err := two.Layers()
	if err != nil {
		t.Fatal(err)
	}

	digest, err := second[1].Digest()
	if err != nil {
		t.Fatal(err)
	}

	var races atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/blobs/"+digest.String()) && races.Add(1) == 1 {
			if err := a.RemoveImage(r.Context(), "one"); err != nil { // its layer was in the list
				t.Error(err)
			}
			if _, err := a.Clean(r.Context()); err != nil {
				t.Error(err)
			}
		}
		next.ServeHTTP(w, r)
	}))

	defer server.Close()

	if out, err := a.Brig(t, []string{"SUDO_UID="}, "rootfs", "pull", push(t, server, "i:1", one), "--name", "one"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	out, err := a.Brig(t, []string{"SUDO_UID="}, "rootfs", "pull", push(t, server, "i:2", two), "--name", "two")
	if err != nil || races.Load() != 1 {
		t.Errorf("%v, %d races\n%s", err, races.Load(), out)
	}
	if out, err := a.Brig(t, nil, "rootfs", "verify", "two"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// IMG-47: a pull takes no name from an image of another origin unless the user names it, and each name
// shows the reference that it was stored under.
func TestPullTakesNoNameOfAnother(t *testing.T) {
	a := harness.StartAgentWith(t, harness.PublicDir(t, "brig-names-"), "--slots", "1")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()

	text := func(s string) v1.Image { return layersOf(t, v1.Config{}, tarOf(t, textFile("x", s, 0o644))) }
	good, newer := push(t, server, "org/debian:12", text("good")), text("newer")
	evil, upper := push(t, server, "evil/debian:12", text("evil")), push(t, server, "org/debian:RC", text("upper"))
	lower, copied := push(t, server, "org/debian:rc", text("lower")), push(t, server, "evil/copy:1", newer)
	pull := func(want string, args ...string) {
		t.Helper()
		out, err := a.Brig(t, []string{"SUDO_UID="}, append([]string{"rootfs", "pull"}, args...)...)
		if !strings.Contains(out, want) || (err == nil) != strings.Contains(out, "stored as") {
			t.Errorf("%v: %v; want %q\n%s", args, err, want, out)
		}
	}

	pull("stored as debian:12", good)
	pull("stored as debian:12", good)
	pull("is the name of the image of "+good, evil)
	push(t, server, "org/debian:12", newer)
	pull("stored as debian:12", good) // the same reference
	pull("stored as debian:rc", upper)
	pull("is the name of the image of "+upper, lower)
	pull("stored as copy:1", copied) // the same image
	for name, want := range map[string]string{"debian:12": good, "copy:1": copied} {
		if out, err := a.Brig(t, nil, "rootfs", "show", name); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v; want %s\n%s", name, err, want, out)
		}
	}

	if out, err := a.Brig(t, nil, "rootfs", "ls"); err != nil || !strings.Contains(out, good) || !strings.Contains(out, copied) {
		t.Errorf("%v; want both references\n%s", err, out)
	}

	pull("the name now goes to "+evil, evil, "--name", "debian:12")
	pull("is the name of the image of "+evil, good)
}
