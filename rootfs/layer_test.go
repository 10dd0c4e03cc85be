package rootfs

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// importLayers stores layers, the lowest first, and returns their digests.
func importLayers(t *testing.T, s *Store, layers ...members) (digests []string) {
	t.Helper()
	for i, ms := range layers {
		text := tarOf(t, ms...)
		l, err := s.ImportLayer(t.Context(), bytes.NewReader(text), digestOf(text), archive.Bounds{})
		if err != nil {
			t.Fatalf("layer %d: %v", i, err)
		}
		digests = append(digests, l.Digest)
	}
	return digests
}

// mounted mounts an image as overlayfs does, and returns the directory.
func mounted(t *testing.T, img Image) string {
	t.Helper()
	dir := t.TempDir()
	lower := []string{img.Path}
	for _, l := range slices.Backward(img.Layers) {
		lower = append(lower, l.Path)
	}

	if err := unix.Mount("overlay", dir, "overlay", unix.MS_RDONLY, "lowerdir="+strings.Join(lower, ":")); err != nil {
		t.Fatalf("mount overlay: %v", err)
	}

	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})

	return dir
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}

		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}

		fmt.Fprintf(&out, "%s %v", rel, info.Mode())
		if info.Mode().IsRegular() && !strings.HasPrefix(rel, "etc/") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, " %s", text)
		}

		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var storedLayers = []members{
	{dir("a"), file("a/x", "low"), file("a/y", "low"), dir("b"), file("b/x", "low"), dir("c"), file("c/x", "low"), symlink("l", "a"),
		symlink("abs", "/b/x"),
		file("f", "low"), dir("t"), file("t/x", "low"), dir("etc"), file("etc/passwd", "root:x:0:0::/:/bin/sh\nwww:x:33:33::/:/bin/sh\n"),
		with(dir("root"), func(h *tar.Header) { h.Mode = 0o700 }), with(file("root/.cargo", "low"), func(h *tar.Header) { h.Mode = 0o600 })},
	{file("a/.wh.x", ""), file("a/z", "mid"), dir("b"), file("b/.wh..wh..opq", ""), file("b/y", "mid"), file(".wh.c", ""),
		symlink("t", "b"), file("f", "mid"),
		file(".wh.new", ""), file("new/deep/x", "mid")},
	{file("c/z", "top"), dir("t"), file("t/z", "top"), file("f", "top"), file("b/.wh.y", ""), file("b/y/in", "top"), file("b/w", "top"),
		hardlink("b/v", "b/w")},
}

const mergedListing = `a drwxr-xr-x
a/y -rw-r--r-- low
a/z -rw-r--r-- mid
abs Lrwxrwxrwx
b drwxr-xr-x
b/v -rw-r--r-- top
b/w -rw-r--r-- top
b/y drwxr-xr-x
b/y/in -rw-r--r-- top
box drwxr-xr-x
c drwxr-xr-x
c/z -rw-r--r-- top
dev drwxr-xr-x
etc drwxr-xr-x
etc/group -rw-r--r--
etc/passwd -rw-r--r--
f -rw-r--r-- top
l Lrwxrwxrwx
new drwxr-xr-x
new/deep drwxr-xr-x
new/deep/x -rw-r--r-- mid
proc drwxr-xr-x
root drwxr-xr-x
root/.cargo -rw-r--r-- low
sandbox Lrwxrwxrwx
t drwxr-xr-x
t/z -rw-r--r-- top
tmp drwxr-xr-x
workspace drwxr-xr-x
`

// An image of layers is what its layers are one above the other: with whiteouts, opaque directories,
// changes of kind and new directories in place of removed ones. What belongs to root is readable.
func TestLayersMakeOneTree(t *testing.T) {
	s := newStore(t)
	img, err := s.AddImage(t.Context(), Spec{Layers: importLayers(t, s, storedLayers...), Config: Config{WorkingDir: "/a/new/here"}}, "many")
	if err != nil {
		t.Fatal(err)
	}

	root := mounted(t, img)
	want := strings.Replace(mergedListing, "a/y ", "a/new drwxr-xr-x\na/new/here drwxr-xr-x\na/y ", 1)
	if got := listing(t, root); got != want {
		t.Errorf("the image is\n%s\nwant\n%s", got, want)
	}
	if text, err := os.ReadFile(filepath.Join(root, "etc/passwd")); err != nil || !strings.Contains(string(text), "www:") ||
		!strings.Contains(string(text), "sandboxuser:x:1000") {
		t.Errorf("accounts %q, %v", text, err)
	}
	if v, err := s.Verify(t.Context(), "many"); err != nil || !v.OK() || v.Amount.Entries < 20 {
		t.Errorf("verify: %+v, %v", v, err)
	}
}

// merged finds in trees what the kernel finds in their overlay.
func TestMergedIsWhatOverlayfsShows(t *testing.T) {
	s := newStore(t)
	img, err := s.AddImage(t.Context(), Spec{Layers: importLayers(t, s, storedLayers...)}, "")
	if err != nil {
		t.Fatal(err)
	}

	root := mounted(t, img)
	dir, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()

	found := 0
	for _, name := range []string{"a", "a/x", "a/y", "l/z", "l/x", "abs", "b/x", "b/y", "b/y/in", "b/v", "c", "c/x", "c/z", "f", "f/x", "t/x",
		"t/z", "t/y", "new/deep/x",
		"l/../a/y", "../../a/y", "sandbox", "etc/passwd", "nothing", "a/./y", "/a//y/", "tmp", "."} {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
		n, kernel := unix.Openat2(int(dir.Fd()), name, &how)
		if kernel == nil {
			found++
			unix.Close(n)
		}
		if has, err := img.Has(t.Context(), name); err != nil || has != (kernel == nil) {
			t.Errorf("%s: %v, %v; the kernel says %v", name, has, err, kernel)
		}
	}

	if found < 10 {
		t.Errorf("only %d names exist: this test compares nothing", found)
	}
}

// Hostile and impossible layers are refused, and nothing of them is stored.
func TestHostileLayers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		layer  members
		reason string // empty: it must work
	}{
		{"IMG-26 opaque in a file's place", members{file("a", "1"), file("a/.wh..wh..opq", "")}, "not a directory"},
		{"IMG-26 control", members{file("a/.wh..wh..opq", ""), dir("a")}, ""},
		{"IMG-28 a hard link to a removed file", members{file(".wh.a", ""), hardlink("b", "a")}, "of the same layer"},
		{"IMG-28 a hard link to a file below", members{hardlink("b", "etc/passwd")}, "of the same layer"},
		{"IMG-28 control", members{file("a", "1"), hardlink("b", "a")}, ""},
		{"IMG-10 a device that is a whiteout for overlayfs",
			members{with(special("null", tar.TypeChar), func(h *tar.Header) { h.Devmajor, h.Devminor = 0, 0 })}, "character device"},
		{"a named pipe is left out", members{special("pipe", tar.TypeFifo)}, ""},
		{"IMG-25 a whiteout of ..", members{file("a/.wh...", "")}, "no name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			text := tarOf(t, tt.layer...)
			_, err := s.ImportLayer(t.Context(), bytes.NewReader(text), digestOf(text), archive.Bounds{})
			layers, lerr := s.Layers()
			var unsafe *archive.UnsafeError
			switch {
			case tt.reason == "" && (err != nil || len(layers) != 1):
				t.Errorf("%v, %v, %v", layers, lerr, err)
			case tt.reason != "" && (!errors.As(err, &unsafe) || !strings.Contains(err.Error(), tt.reason) || len(layers) != 0 || lerr != nil):
				t.Errorf("%v, %v, %v; want a refusal with %q", layers, lerr, err, tt.reason)
			}
		})
	}
}

// IMG-27: a directory becomes a link, and a layer writes a file through it. The control has the
// directory in the layer; then it replaces the link.
func TestLayersDoNotReplaceALinkUnseen(t *testing.T) {
	s := newStore(t)
	d := importLayers(t, s, members{dir("etc"), dir("a"), file("a/x", "1")}, members{symlink("a", "etc")}, members{file("a/passwd", "2")},
		members{dir("a"), file("a/passwd", "2")}, members{file(".wh.a", ""), file("a/b/c", "3")})
	var unsafe *archive.UnsafeError
	if _, err := s.AddImage(t.Context(), Spec{Layers: d[:3]}, "bad"); !errors.As(err, &unsafe) ||
		!strings.Contains(err.Error(), `"a"`) || s.Has("bad") {
		t.Errorf("%v; want a refusal that names a", err)
	}

	for name, layers := range map[string][]string{"explicit": {d[0], d[1], d[3]}, "removed": {d[0], d[1], d[4]}, "no link": {d[0], d[2]}} {
		if _, err := s.AddImage(t.Context(), Spec{Layers: layers}, ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// IMG-29: a layer with another digest than it was said to have is not stored. IMG-35: a layer that an
// image lists twice is one tree. A layer goes with its last image, and stays while a cell has it.
func TestLayersAreSharedAndGoWithTheirLastImage(t *testing.T) {
	s := newStore(t)
	text := tarOf(t, file("x", "1"))
	if _, err := s.ImportLayer(t.Context(), bytes.NewReader(text), digestOf([]byte("another")), archive.Bounds{}); !errors.Is(err, ErrDigest) {
		t.Errorf("%v; want ErrDigest", err)
	}
	if layers, err := s.Layers(); err != nil || len(layers) != 0 {
		t.Errorf("%v, %v; want no layer", layers, err)
	}

	d := importLayers(t, s, members{file("x", "1")}, members{file("y", "2")}, members{file("z", "3")})
	img, err := s.AddImage(t.Context(), Spec{Layers: []string{d[0], d[1], d[0]}}, "one")
	if err != nil || len(img.Layers) != 2 || img.Layers[1].Digest != d[0] {
		t.Fatalf("%+v, %v; want two layers", img.Layers, err)
	}
	if got := listing(t, mounted(t, img)); !strings.Contains(got, "x ") || !strings.Contains(got, "y ") {
		t.Error(got)
	}

	two, err := s.AddImage(t.Context(), Spec{Layers: []string{d[0], d[2]}}, "two")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddImage(t.Context(), Spec{Layers: []string{d[0], digestOf([]byte("none"))}}, "none"); !errors.Is(err, ErrNoLayer) {
		t.Errorf("%v; want ErrNoLayer", err)
	}

	count := func(want int) {
		t.Helper()
		if layers, err := s.Layers(); err != nil || len(layers) != want {
			t.Errorf("%d layers, %v; want %d", len(layers), err, want)
		}
	}

	if err := s.Remove("one"); err != nil {
		t.Fatal(err)
	}

	count(2)
	lock, err := s.LockImage(two)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(two.Digest); err != nil {
		t.Fatal(err)
	}

	count(0)
	trees, err := lock.Trees()
	if err != nil || len(trees) != 3 {
		t.Fatalf("%v, %v; want three trees", trees, err)
	}

	for _, f := range trees {
		if names, err := os.ReadDir(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err != nil || len(names) == 0 {
			t.Errorf("%s: %v, %v; want the files of a locked image", f.Name(), names, err)
		}
		f.Close()
	}

	if removed, err := lock.Close(); !removed || err != nil {
		t.Errorf("removed %v, %v", removed, err)
	}
	if err := s.Clean(); err != nil {
		t.Error(err)
	}

	importLayers(t, s, members{file("x", "1")})
	s.holds.end(d[:1]) // as an hour later
	if gone, err := s.RemoveUnusedLayers(); err != nil || len(gone) != 1 {
		t.Errorf("%v, %v; want one layer removed", gone, err)
	}

	count(0)
}

// IMG-32: a configuration that no run could use is refused.
func TestConfigsThatNoRunCouldUse(t *testing.T) {
	layer := []string{digestOf(nil)}
	for name, tt := range map[string]struct {
		spec Spec
		ok   bool
	}{
		"ordinary": {Spec{Layers: layer,
			Config: Config{Env: []string{"PATH=/bin", "A="}, Entrypoint: []string{"/e"}, Cmd: []string{""}, WorkingDir: "/app"}}, true},
		"NUL in the environment": {Spec{Layers: layer, Config: Config{Env: []string{"A=B\x00C"}}}, false},
		"no name":                {Spec{Layers: layer, Config: Config{Env: []string{"=B"}}}, false},
		"a million words":        {Spec{Layers: layer, Config: Config{Entrypoint: make([]string, 1_000_000)}}, false},
		"a long word":            {Spec{Layers: layer, Config: Config{Cmd: []string{strings.Repeat("x", 1<<20)}}}, false},
		"a relative directory":   {Spec{Layers: layer, Config: Config{WorkingDir: "app"}}, false},
		"a directory above":      {Spec{Layers: layer, Config: Config{WorkingDir: "/a/../../b"}}, false},
		"no layers":              {Spec{}, false},
		"129 layers":             {Spec{Layers: slices.Repeat(layer, 129)}, false},
		"a layer by path":        {Spec{Layers: []string{"../../x"}}, false},
	} {
		if err := tt.spec.Check(); (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrSpec) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A layer that was changed on disk is found, and replaced by the next import.
func TestADamagedLayerIsFoundAndReplaced(t *testing.T) {
	s := newStore(t)
	d := importLayers(t, s, members{file("x", "1")})
	img, err := s.AddImage(t.Context(), Spec{Layers: d}, "one")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(img.Layers[0].Path, "x"), []byte("2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Verify(t.Context(), "one"); err != nil || v.OK() || len(v.Changed) != 1 || !strings.HasSuffix(v.Changed[0], ":x") {
		t.Errorf("%+v, %v; want x changed", v, err)
	}

	importLayers(t, s, members{file("x", "1")})
	if v, err := s.Verify(t.Context(), "one"); err != nil || !v.OK() {
		t.Errorf("%+v, %v; want it as imported", v, err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(img.Layers[0].Path), "directories.json")); err != nil { // a layer of an older brig
		t.Fatal(err)
	}
	if _, err := s.AddImage(t.Context(), Spec{Layers: d}, "two"); !errors.Is(err, ErrNoLayer) {
		t.Errorf("%v; want ErrNoLayer", err)
	}

	importLayers(t, s, members{file("x", "1")})
	if _, err := s.AddImage(t.Context(), Spec{Layers: d}, "two"); err != nil {
		t.Error(err)
	}
	if again, err := s.Lookup("one"); err != nil || !again.Layers[0].Imported.After(img.Layers[0].Imported) {
		t.Errorf("%+v, %v; want the new layer", again.Layers, err)
	}
}
