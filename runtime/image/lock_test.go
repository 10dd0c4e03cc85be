package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"os"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/archive"
	"github.com/brig-sandbox/brig/rootfs/archive/archivetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == archive.AdmitArg {
		os.Exit(archive.AdmitMain(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// However many cells have an image of many layers, its locks take one descriptor for each layer. The
// last one to close them has the removed image deleted, and no cell gets a lock on it meanwhile.
func TestCellsShareTheLockOfAnImageOfLayers(t *testing.T) {
	testenv.NeedRoot(t)
	s, err := rootfs.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	var layers []string
	for i := range 5 {
		text := archivetest.Tar(t, archivetest.File(string(rune('a'+i)), "x"))
		sum := sha256.Sum256(text)
		l, err := s.ImportLayer(t.Context(), bytes.NewReader(text), "sha256:"+hex.EncodeToString(sum[:]), archive.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		layers = append(layers, l.Digest)
	}

	img, err := s.AddImage(t.Context(), rootfs.Spec{Layers: layers}, "many")
	if err != nil {
		t.Fatal(err)
	}

	images, err := New(s, slog.New(slog.NewTextHandler(io.Discard, nil)), 0, 0, false, func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := images.Close(); err != nil {
			t.Error(err)
		}
	}()

	before := openFiles(t)
	var locks []*Lock
	for range 20 {
		l, err := images.Lock(img)
		if err != nil {
			t.Fatal(err)
		}
		locks = append(locks, l)
	}

	if n := openFiles(t) - before; n != 6 {
		t.Errorf("20 locks on an image of 5 layers have %d descriptors; want 6", n)
	}
	if err := s.Remove("many"); err != nil {
		t.Fatal(err)
	}
	if _, err := images.Lock(img); !api.HasCode(err, api.CodeNoImage) {
		t.Errorf("a lock on a removed image: %v; want unknown-image", err)
	}

	for i, l := range locks {
		if trees, err := l.Trees(); err != nil || len(trees) != 6 {
			t.Errorf("%d trees, %v", len(trees), err)
		} else {
			for _, f := range trees {
				f.Close()
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if last := i == len(locks)-1; images.retired.Load() != last {
			t.Errorf("after %d of %d: to be deleted %v", i+1, len(locks), !last)
		}
	}

	if n := openFiles(t) - before; n != 0 {
		t.Errorf("%d descriptors are left", n)
	}
}
