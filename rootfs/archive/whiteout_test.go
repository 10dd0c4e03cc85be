package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/rootfs/archive/archivetest"
)

// IMG-25: a whiteout removes one name of its own directory. Names that would be another place, or no
// name, are refused; the controls are whiteouts of every ordinary kind.
func TestWhiteoutsNameOneMemberOfTheirDirectory(t *testing.T) {
	for _, tt := range []struct {
		member string
		want   entry // zero: skipped, or refused
		unsafe string
	}{
		{"etc/.wh.passwd", entry{Kind: kindWhiteout, Path: "etc/passwd"}, ""},
		{"./.wh.etc", entry{Kind: kindWhiteout, Path: "etc"}, ""},
		{"/etc/.wh.passwd", entry{Kind: kindWhiteout, Path: "etc/passwd"}, ""},
		{"a/.wh..hidden", entry{Kind: kindWhiteout, Path: "a/.hidden"}, ""},
		{"a/.wh....", entry{Kind: kindWhiteout, Path: "a/..."}, ""},
		{"a/.wh..wh..opq", entry{Kind: kindOpaque, Path: "a"}, ""},
		{".wh..wh..opq", entry{Kind: kindOpaque}, ""},
		{".wh..wh.plnk", entry{}, ""},
		{".wh..wh.", entry{}, ""},
		{"dev/.wh.null", entry{}, ""},
		{"a/.wh...", entry{}, "no name"},
		{"a/.wh..", entry{}, "no name"},
		{".wh...", entry{}, "no name"},
		{"a/.wh.", entry{}, "no name"},
		{".wh.", entry{}, "no name"},
		{"../.wh.x", entry{}, `".."`},
		{"a/../.wh.x", entry{}, `".."`},
		{"a/.wh.b/c", entry{}, "below a whiteout"},
	} {
		h := &tar.Header{Name: tt.member, Typeflag: tar.TypeReg, Mode: 0o600, ModTime: archivetest.Epoch}
		got, skip, err := layerTree.decide(h)
		var unsafe *refusal
		switch {
		case tt.unsafe != "" && (!errors.As(err, &unsafe) || unsafe.kind != kindUnsafe || !strings.Contains(unsafe.reason, tt.unsafe)):
			t.Errorf("%q: %v; want a refusal with %q", tt.member, err, tt.unsafe)
		case tt.unsafe == "" && (err != nil || got != tt.want || (skip == "") != (tt.want != entry{})):
			t.Errorf("%q: %+v, skipped %q, %v; want %+v", tt.member, got, skip, err, tt.want)
		case tt.want != entry{}:
			if err := got.check(true); err != nil {
				t.Errorf("%q: %v", tt.member, err)
			}
			if err := got.check(false); err == nil {
				t.Errorf("%q: root would make it in the tree of a whole image", tt.member)
			}
		}
	}
}

// A whole image's archive has no whiteouts: such names are files (IMG-13).
func TestWhiteoutsOfAWholeImageAreFiles(t *testing.T) {
	e, skip, err := wholeTree.decide(&tar.Header{Name: "etc/.wh.x", Typeflag: tar.TypeReg, ModTime: archivetest.Epoch})
	if err != nil || skip != "" || e.Kind != kindFile || e.Path != "etc/.wh.x" {
		t.Errorf("%+v, %q, %v", e, skip, err)
	}
}

// What the owner may read and execute everybody may; nobody may write, and no set-id bit remains.
func TestModesOfLayers(t *testing.T) {
	for mode, want := range map[int64]uint16{0o700: 0o755, 0o600: 0o644, 0o500: 0o555, 0o640: 0o644, 0o4755: 0o755, 0o1777: 0o755,
		0o644: 0o644, 0: 0, 0o077: 0o055, 0o200: 0o200} {
		if got := admitLayerMode(mode); got != want {
			t.Errorf("%o: %o; want %o", mode, got, want)
		}
	}
}

// The child reads no compressed layer: the digest of a layer is that of its uncompressed bytes.
func TestCompressedLayersAreRefused(t *testing.T) {
	plain := tarOf(t, file("x", "1"))
	var out bytes.Buffer
	if err := admit(bytes.NewReader(plain), &out, layerTree, Bounds{}); err != nil {
		t.Fatal(err)
	}
	if err := admit(bytes.NewReader(gzipped(t, plain)), &out, layerTree, Bounds{}); err == nil {
		t.Error("a compressed layer was accepted")
	}

	empty := make([]byte, 1024)
	if err := admit(bytes.NewReader(empty), &out, layerTree, Bounds{}); err != nil {
		t.Errorf("a layer without members: %v", err)
	}
	if err := admit(bytes.NewReader(slices.Concat(plain, plain)), &out, layerTree, Bounds{}); err == nil {
		t.Error("a second archive behind the end went unnoticed")
	}
}
