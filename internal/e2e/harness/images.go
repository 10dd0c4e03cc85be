package harness

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/build"
)

// store imports the images that the tests use, once for all tests.
type store struct {
	mu   sync.Mutex
	have map[string]bool // by data directory and name
}

// Images are the images that the tests of this process have already stored.
var Images = store{have: map[string]bool{}}

// ensure makes sure that the tiny image is stored.
func (s *store) ensure(t testing.TB, a *Agent) { s.Load(t, a, "tiny") }

// Load makes sure that the agent's store has an image, and builds it if it does not.
func (s *store) Load(t testing.TB, a *Agent, name string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()

	key := filepath.Join(a.Data, name)
	if s.have[key] {
		return
	}
	defer LockStore(t, a.Data, name)()

	list, err := a.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	at := slices.IndexFunc(list, func(i api.Image) bool { return slices.Contains(i.Names, name) })
	stored := at >= 0
	if stored { // it may date from before there were volumes
		images, err := rootfs.Open(filepath.Join(a.Data, "images"))
		if err == nil {
			err = images.EnsureWorkspace(list[at].Digest)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if file, ok := RegistryImages[name]; ok {
		if !stored {
			a.storeRegistryImage(t, name, file)
		}
		s.have[key] = true
		return
	}

	recipe, err := build.FindRecipe(name)
	if err != nil {
		t.Fatal(err)
	}

	if mark, current := RecipeMark(t, a.Data, recipe); !stored || !current {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		tarball := bytes.NewReader(ImageArchive(ctx, t, name))
		if _, err := a.Import(ctx, tarball, name, ""); err != nil {
			t.Fatalf("import image %s: %v", name, err)
		}
		mark()
	}

	s.have[key] = true
}

// LockStore lets one process at a time have a part of the store of images, such as an image that it looks for and
// builds: tests run in several. It returns what unlocks.
func LockStore(t testing.TB, data, name string) (unlock func()) {
	t.Helper()
	lock, err := os.OpenFile(filepath.Join(data, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := flock.Lock(lock); err != nil {
		t.Fatal(err)
	}
	return func() { lock.Close() }
}

// RecipeMark reports whether the image in a store was made by today's recipe, and returns a
// function that records that it was.
func RecipeMark(t testing.TB, data string, recipe build.Recipe) (mark func(), current bool) {
	t.Helper()
	text, err := json.Marshal(recipe)
	if err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(data, recipe.Name+".recipe")
	saved, err := os.ReadFile(file)
	current = err == nil && bytes.Equal(saved, text) || os.Getenv("BRIG_TEST_IMAGES") != ""
	return func() {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}, current
}

// ImageArchive builds an image, or takes it from $BRIG_TEST_IMAGES on a machine that cannot build it.
// What was built is kept for such a machine.
func ImageArchive(ctx context.Context, t testing.TB, name string) []byte {
	t.Helper()
	dir := os.Getenv("BRIG_TEST_IMAGES")
	if dir == "" {
		dir = DataDir(t)
	}

	file := filepath.Join(dir, name+".tar.zst")
	if text, err := os.ReadFile(file); err == nil && os.Getenv("BRIG_TEST_IMAGES") != "" {
		return text
	}

	recipe, err := build.FindRecipe(name)
	if err != nil {
		t.Fatal(err)
	}

	var tarball bytes.Buffer
	if err := build.Image(ctx, recipe, &tarball, build.Options{Cache: "/var/cache/brig"}); err != nil {
		t.Fatalf("build image %s: %v", name, err)
	}
	if err := os.WriteFile(file, tarball.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return tarball.Bytes()
}

// RegistryImages are images of registries that languages use: brig has no recipe for them. Each is a file
// next to the checkout, for machines that reach no registry.
var RegistryImages = map[string]string{"dotnet": "../../../../shared/images/dotnet.tar.zst"}

// storeRegistryImage imports an image from its file or, where that is absent, pulls it from the place that
// the manifests name.
func (a *Agent) storeRegistryImage(t testing.TB, name, file string) {
	t.Helper()
	args := []string{"rootfs", "import", file, "--name", name}
	if _, err := os.Stat(file); err != nil {
		args = []string{"rootfs", "pull", imageFrom(t, name), "--name", name}
	}
	if out, err := a.Brig(t, nil, args...); err != nil {
		testenv.NeedFile(t, file, "or a registry that answers: brig "+strings.Join(args, " ")+": "+out)
		t.Fatalf("brig %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// imageFrom is the reference of a registry's image, as a manifest names it.
func imageFrom(t testing.TB, image string) string {
	t.Helper()
	for _, l := range BuiltinLanguages(t) {
		if l.Image == image && l.ImageFrom != "" {
			return l.ImageFrom
		}
	}
	t.Fatalf("no language names a registry for image %s", image)
	return ""
}

// ImportImage stores an image of one file and returns the path of its tree.
func (a *Agent) ImportImage(t *testing.T, name string, f api.File, mode int64) (tree string) {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: f.Name, Mode: mode, Size: int64(len(f.Content))})
	_, werr := w.Write(f.Content)
	if err := errors.Join(err, werr, w.Close()); err != nil {
		t.Fatal(err)
	}

	img, err := a.Import(t.Context(), &archive, name, "")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(a.Data, "images", "images", strings.TrimPrefix(img.Digest, "sha256:"), "root")
}
