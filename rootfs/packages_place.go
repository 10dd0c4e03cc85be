package rootfs

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// EnsurePackagesPlace returns the layer that contains an empty directory /packages. It is below the image
// of an installer: a place to mount what the installer writes. The layer is stored when it is first
// needed, and again after brig rootfs gc.
func (s *Store) EnsurePackagesPlace(ctx context.Context) (Layer, error) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	err := w.WriteHeader(&tar.Header{Name: "packages/", Typeflag: tar.TypeDir, Mode: 0o755})
	if err = errors.Join(err, w.Close()); err != nil {
		return Layer{}, err
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(text.Bytes()))
	layer, err := s.Layer(digest)
	if errors.Is(err, fs.ErrNotExist) {
		layer, err = s.ImportLayer(ctx, &text, digest, archive.Bounds{})
	}
	return layer, err
}
