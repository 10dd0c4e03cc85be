package build

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/archive"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == archive.AdmitArg {
		os.Exit(archive.AdmitMain(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

func newStore(t testing.TB) *rootfs.Store {
	t.Helper()
	testenv.NeedRoot(t)
	s, err := rootfs.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
