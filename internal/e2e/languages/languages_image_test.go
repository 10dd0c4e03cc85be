package languages

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/rootfs"
)

// maxImageSize is the largest allowed size of images, unpacked.
var maxImageSize = map[string]int64{"python": 150e6, "cpp": 460e6}

// cleanImage checks a stored image for what no image may contain: files that change the user, and
// traces of the build host and the build date.
func cleanImage(t *testing.T, a *harness.Agent, name string) {
	store, err := rootfs.Open(filepath.Join(a.Data, "images"))
	if err != nil {
		t.Fatal(err)
	}

	img, err := store.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	if maximum, bounded := maxImageSize[name]; bounded && img.Size > maximum {
		t.Errorf("image %s has %d bytes; the maximum is %d", name, img.Size, maximum)
	}

	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}

	files := 0
	err = filepath.WalkDir(img.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(img.Path, path)
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		files++
		mode := info.Mode()
		switch {
		case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
			t.Errorf("%s: %v", rel, mode)
		case mode&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0:
			t.Errorf("%s: %v", rel, mode)
		case mode.IsRegular() && leftOver(rel):
			t.Errorf("%s is left of the build", rel)
		case mode.IsRegular() && strings.HasPrefix(rel, "etc/") && info.Size() < 1<<20:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if len(host) > 3 && strings.Contains(string(text), host) {
				t.Errorf("%s names the host %s", rel, host)
			}
		}

		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files seen, %v", files, err)
	}
}

// leftOver reports whether a file is a cache or a log, or reveals where it was built.
func leftOver(rel string) bool {
	for _, dir := range []string{"var/cache/", "var/log/", "var/lib/apt/", "var/lib/dpkg/", "var/tmp/", "tmp/", "run/", "root/"} {
		if strings.HasPrefix(rel, dir) {
			return true
		}
	}
	switch rel {
	case "etc/hostname", "etc/machine-id", "etc/resolv.conf", "etc/fstab", "etc/shadow-", "etc/passwd-":
		return true
	}
	return strings.HasSuffix(rel, ".deb") || strings.HasSuffix(rel, ".log")
}
