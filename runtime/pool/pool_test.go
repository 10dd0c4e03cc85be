package pool

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/archive"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/image"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// TestMain lets this binary act as the child process that the image store executes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == archive.AdmitArg {
		os.Exit(archive.AdmitMain(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// The cells of an image are closed when its tree goes: when the image is removed, and when an
// import replaces it because it was damaged. Otherwise a damaged tree would stay as long as they
// do.
func TestCellsAreClosedWithTheirTree(t *testing.T) {
	testenv.NeedRoot(t)
	store, err := rootfs.Open(filepath.Join(t.TempDir(), "images"))
	Check(t, err)
	imported := func() rootfs.Image {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		Check(t, w.WriteHeader(&tar.Header{Name: "x", Mode: 0o644}))
		Check(t, w.Close())
		img, err := store.Import(t.Context(), &archive, rootfs.Options{Name: "tiny"})
		Check(t, err)
		return img
	}

	first := imported()
	p := &Pool{Factory: &cell.Factory{Images: &image.Images{Store: store}}, slots: []*slotState{{keepers: map[plan.CellKey]*keeper{
		{ImageTree: plan.TreeOf(first)}: {}, {ImageTree: plan.TreeOf(first), FullProc: true}: {},
	}}}}
	if gone := p.removedTrees(); len(gone) != 0 {
		t.Errorf("%v have gone", gone)
	}
	if again := imported(); again.Replaced || len(p.removedTrees()) != 0 {
		t.Errorf("imported again, as it was, %v have gone", p.removedTrees())
	}

	Check(t, os.Remove(filepath.Join(first.Path, "x")))
	second := imported()
	if gone := p.removedTrees(); !second.Replaced || len(gone) != 1 || !gone[plan.TreeOf(first)] {
		t.Errorf("replaced, %v have gone", gone)
	}

	p.slots[0].keepers = map[plan.CellKey]*keeper{{ImageTree: plan.TreeOf(second)}: {}}
	if gone := p.removedTrees(); len(gone) != 0 {
		t.Errorf("%v have gone next to the new one", gone)
	}

	Check(t, store.Remove("tiny"))
	if gone := p.removedTrees(); len(gone) != 1 || !gone[plan.TreeOf(second)] {
		t.Errorf("removed, %v have gone", gone)
	}
}

func Check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
