package languages

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/rootfs"
)

// The paths that a language needs are looked up inside the image's tree, through its links. The
// error for an image that lacks some names the missing paths and the remedy.
func TestNeeds(t *testing.T) {
	host := t.TempDir() // next to the tree; files in it must not count
	tree := filepath.Join(host, "root")
	for _, dir := range []string{"usr/lib/x", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for name, content := range map[string]string{"root/usr/lib/x/one": "", "outside": ""} {
		if err := os.WriteFile(filepath.Join(host, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for name, target := range map[string]string{"lib": "usr/lib", "abs": "/usr/lib/x/one", "out": "../outside",
		"host": host, "round": "round"} {
		if err := os.Symlink(target, filepath.Join(tree, name)); err != nil {
			t.Fatal(err)
		}
	}

	img := rootfs.Image{Path: tree}
	for name, there := range map[string]bool{
		"/usr/lib/x/one": true, "/usr/lib/x": true, "/lib/x/one": true, "/abs": true, "/elsewhere": true,
		"/usr/lib/x/two": false, "/usr/lib/x/one/more": false, "/out": false, "/host": false, "/round": false, "/outside": false,
	} {
		l := Manifest{Name: "x", Image: "x", Needs: []string{"/usr/lib", name}}
		missing, err := l.MissingPaths(t.Context(), img)
		if err != nil || slices.Contains(missing, name) == there || slices.Contains(missing, "/usr/lib") {
			t.Errorf("%s: missing %q, %v; want it there: %v", name, missing, err, there)
		}
		if err := l.CheckImage(t.Context(), img); errors.Is(err, ErrOutdated) == there {
			t.Errorf("%s: %v", name, err)
		}
	}

	for image, cure := range map[string]string{"java": "brig rootfs build java", "mine": "brig rootfs import FILE --name mine"} {
		err := Manifest{Name: "x", Image: image, Needs: []string{"/usr/lib/x/two"}}.CheckImage(t.Context(), img)
		if err == nil || !strings.Contains(err.Error(), cure) || !strings.Contains(err.Error(), "/usr/lib/x/two") {
			t.Errorf("image %s: %v; want what is missing, and %q", image, err, cure)
		}
	}

	if missing, err := (Manifest{Needs: []string{"/a"}}).MissingPaths(t.Context(),
		rootfs.Image{Path: filepath.Join(host, "none")}); err != nil || missing != nil {
		t.Errorf("an image that was removed: %q, %v", missing, err)
	}
}

func TestNeedsAreAbsolutePaths(t *testing.T) {
	const manifest = "name: x\nimage: x\nsource_file: x\nrun: [x, \"{source}\"]\nneeds: [/usr/ok, "
	if _, err := parse("m", []byte(manifest+"/usr/lib/x]\n"), nil); err != nil {
		t.Error(err)
	}
	for _, word := range []string{"usr/lib", "/", "/usr/../etc", "/usr/", "\"\""} {
		if _, err := parse("m", []byte(manifest+word+"]\n"), nil); err == nil || !strings.Contains(err.Error(), "line 5: needs") {
			t.Errorf("needs %s: %v", word, err)
		}
	}
}

// The manifests need every file that brig adds to images for their commands, so that an image of an
// older recipe is detected.
func TestManifestsNeedTheFilesTheyName(t *testing.T) {
	all, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	seen := 0
	for _, l := range all.All() {
		for _, word := range slices.Concat(l.Compile, l.Run, l.Syntax) {
			for part := range strings.SplitSeq(word, ":") {
				if !strings.HasPrefix(part, "/usr/lib/brig/") {
					continue
				}
				seen++
				part = strings.TrimSuffix(part, "/*")
				if !slices.ContainsFunc(l.Needs, func(n string) bool { return n == part || strings.HasPrefix(n, part+"/") }) {
					t.Errorf("%s has %s in a command; add a file of it to needs", l.Name, part)
				}
			}
		}
	}

	if seen == 0 {
		t.Error("no manifest names anything in /usr/lib/brig")
	}
}
