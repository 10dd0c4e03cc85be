package rootfs

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs/archive"
	"github.com/brig-sandbox/brig/rootfs/archive/archivetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == archive.AdmitArg {
		os.Exit(archive.AdmitMain(os.Stdin, os.Stdout))
	}
	if len(os.Args) == 3 && os.Args[1] == "import" {
		os.Exit(importMain(os.Args[2]))
	}
	os.Exit(m.Run())
}

type members = archivetest.Members

// Archives are made as in the tests of their reader.
var (
	file, dir, symlink, hardlink = archivetest.File, archivetest.Dir, archivetest.Symlink, archivetest.Hardlink
	special, tarOf, gzipped      = archivetest.Special, archivetest.Tar, archivetest.Gzip
	epoch                        = archivetest.Epoch
)

func with(h *tar.Header, change func(*tar.Header)) *tar.Header {
	change(h)
	return h
}

// newStore makes a store in a directory that also contains a victim, and checks at the end that the
// victim is untouched and that no incomplete import remains.
func newStore(t testing.TB) *Store {
	t.Helper()
	testenv.NeedRoot(t)
	parent := t.TempDir()
	victim := archivetest.Plant(t, parent)
	s, err := Open(filepath.Join(parent, "store"))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		victim.MustBeUntouched(t)
		left, err := os.ReadDir(filepath.Join(s.dir, "work"))
		if err != nil || len(left) != 0 {
			t.Errorf("work directory holds %v (%v); want nothing", left, err)
		}
	})

	return s
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
