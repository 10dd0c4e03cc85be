package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// A Layer is the tree of one layer, which any number of images share. It has whiteouts and opaque
// directories as overlayfs knows them.
type Layer struct {
	Digest   string    `json:"digest"` // "sha256:..." of the uncompressed archive: what OCI calls the diffID
	Path     string    `json:"path"`   // of the tree on this host
	Size     int64     `json:"size"`   // bytes of all files
	Entries  int64     `json:"entries"`
	Imported time.Time `json:"imported"`

	Disk int64 `json:"-"` // bytes on disk, with the record; of a layer that was just imported alone
}

// MaxLayers is the most layers that an image may have.
const MaxLayers = 128

// ErrNoLayer is wrapped by the error for an image of a layer that is not stored.
var ErrNoLayer = errors.New("no such layer")

// layerMeta is the content of layer.json.
type layerMeta struct {
	Digest     string    `json:"digest"`
	Size       int64     `json:"size"`
	Entries    int64     `json:"entries"`
	Imported   time.Time `json:"imported"`
	Record     string    `json:"record"`                // sha256 of the tree's record
	OpaqueRoot bool      `json:"opaque_root,omitempty"` // the layers below are hidden
}

// ImportLayer reads the uncompressed archive of a layer to its end and stores the tree under its
// digest, which must be digest (IMG-29). If the store already has the layer, it keeps that one, unless
// it has changed since its import: then it is replaced. No image has the layer yet: it is held for an
// hour, and RemoveUnusedLayers removes a layer without an image and a hold.
//
// What Import says about blocking and errors is true of it, too.
func (s *Store) ImportLayer(ctx context.Context, r io.Reader, digest string, bounds archive.Bounds) (Layer, error) {
	hex, err := ParseDigest(digest)
	if err != nil {
		return Layer{}, fmt.Errorf("%w: %w", ErrSpec, err)
	}

	bounds = bounds.WithDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, bounds.Time,
		fmt.Errorf("%w: importing it took longer than %v", archive.ErrTooLarge, bounds.Time))
	defer cancel()

	staging, err := s.newStagingDir()
	if err != nil {
		return Layer{}, err
	}

	layer, err := s.importLayerInto(ctx, staging, r, hex, bounds)
	return layer, errors.Join(s.withSpaceHint(err), staging.Close())
}

// withSpaceHint adds to the error of a full disk what to do.
func (s *Store) withSpaceHint(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("no space for the layer in %s: free some, or move the store (--data-dir): %w", s.dir, err)
	}
	return err
}

// importLayerInto imports a layer with the digest hex; empty: with any.
func (s *Store) importLayerInto(ctx context.Context, staging *StagingDir, r io.Reader, hex string,
	bounds archive.Bounds) (Layer, error) {
	root, err := staging.mkdir("root")
	if err != nil {
		return Layer{}, err
	}
	defer root.Close()

	empty, err := staging.mkdir("empty")
	if err != nil {
		return Layer{}, err
	}
	defer empty.Close()

	got, err := archive.UnpackLayer(ctx, r, root, empty, bounds, nil)
	if err != nil {
		return Layer{}, err
	}
	if hex == "" {
		hex = strings.TrimPrefix(got.Digest, "sha256:")
	}
	if digest := "sha256:" + hex; got.Digest != digest {
		return Layer{}, fmt.Errorf("%w: the layer's digest is %s, not %s", ErrDigest, got.Digest, digest)
	}
	if err := archive.FinishLayer(root); err != nil {
		return Layer{}, err
	}

	record, recordBytes, err := staging.record(ctx, got.Sums)
	if err != nil {
		return Layer{}, err
	}

	meta := layerMeta{Digest: got.Digest, Size: got.Bytes, Entries: got.Entries, Imported: time.Now().UTC(),
		Record: record, OpaqueRoot: got.OpaqueRoot}
	if err := errors.Join(staging.writeJSON("layer.json", meta),
		staging.writeJSON("directories.json", layerDirs{got.Implied, got.Whiteouts})); err != nil {
		return Layer{}, err
	}
	if err := unix.Syncfs(int(root.Fd())); err != nil {
		return Layer{}, fmt.Errorf("write layer to disk: %w", err)
	}

	layer, err := s.publishLayer(ctx, staging, hex)
	layer.Disk = got.Disk + recordBytes
	return layer, err
}

// publishLayer moves a finished layer into the store, unless an undamaged one is there.
func (s *Store) publishLayer(ctx context.Context, staging *StagingDir, hex string) (_ Layer, err error) {
	_, lost := os.Stat(s.path("layers", hex, "directories.json"))
	damaged := lost != nil
	if old, err := readLayerMeta(s.path("layers", hex), hex); err == nil {
		c, cerr := compareTree(ctx, s.path("layers", hex), old.Record, comparing{first: true})
		damaged = damaged || cerr != nil || c.differs()
	}
	if ctx.Err() != nil {
		return Layer{}, context.Cause(ctx)
	}

	unlock, err := s.lock()
	if err != nil {
		return Layer{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	if _, err := readLayerMeta(s.path("layers", hex), hex); err != nil || damaged {
		if err := s.install(staging, s.path("layers", hex), "layer.json", "directories.json"); err != nil {
			return Layer{}, fmt.Errorf("store layer: %w", err)
		}
		now := time.Now()
		if err := os.Chtimes(s.path("images"), now, now); err != nil { // the images of the layer have changed: see storeState
			return Layer{}, err
		}
	}

	s.holds.add("sha256:"+hex, time.Now())
	return s.Layer("sha256:" + hex)
}

// Layer returns a stored layer. The error wraps fs.ErrNotExist if there is none.
func (s *Store) Layer(digest string) (Layer, error) {
	hex, err := ParseDigest(digest)
	if err != nil {
		return Layer{}, err
	}
	meta, err := readLayerMeta(s.path("layers", hex), hex)
	if err != nil {
		return Layer{}, err
	}
	return Layer{Digest: digest, Path: s.path("layers", hex, "root"), Size: meta.Size, Entries: meta.Entries,
		Imported: meta.Imported}, nil
}

// readOnce returns a function that is Layer, and reads the file of each layer once.
func (s *Store) readOnce() func(digest string) (Layer, error) {
	known := map[string]Layer{}
	return func(digest string) (Layer, error) {
		l, ok := known[digest]
		if ok {
			return l, nil
		}
		l, err := s.Layer(digest)
		if err == nil {
			known[digest] = l
		}
		return l, err
	}
}

func readLayerMeta(dir, hex string) (layerMeta, error) {
	return readMetadata(dir, "layer", hex, func(m layerMeta) string { return m.Digest })
}

// checkLayers returns an error that wraps ErrNoLayer if one of the layers is not stored.
func (s *Store) checkLayers(digests []string) error {
	for _, digest := range digests {
		_, err := s.Layer(digest)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s: import it first", ErrNoLayer, digest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Layers returns every stored layer, sorted by digest.
func (s *Store) Layers() ([]Layer, error) {
	dirs, err := os.ReadDir(s.path("layers"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a store of a brig without layers, opened for reading
		return nil, fmt.Errorf("list layers: %w", err)
	}

	var layers []Layer
	for _, d := range dirs {
		layer, err := s.Layer("sha256:" + d.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // just removed
		}
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}

	return layers, nil
}

// RemoveUnusedLayers removes the layers that no image and no set of packages has, such as those of a pull
// that was interrupted more than an hour ago.
func (s *Store) RemoveUnusedLayers() (removed []Layer, err error) {
	gone, unlock, err := s.lockToRemove()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	all, err := s.Layers()
	if err != nil {
		return nil, err
	}
	return s.discardLayers(all, gone)
}

// discardLayers removes those of the layers that no image and no set of packages has and that no pull
// holds. The caller holds the store's lock, and ends gone when it no longer does.
func (s *Store) discardLayers(layers []Layer, gone *removals) (removed []Layer, err error) {
	if len(layers) == 0 {
		return nil, nil
	}

	images, err := s.readAll()
	if err != nil {
		return nil, err
	}

	used := map[string]bool{}
	for _, img := range images {
		for _, l := range img.Layers {
			used[l.Digest] = true
		}
	}

	sets, err := s.briefPackageSets()
	if err != nil {
		return nil, err
	}

	for _, p := range sets {
		used[p.Layer] = true
	}

	for _, l := range layers {
		if used[l.Digest] || s.holds.has(l.Digest, time.Now()) {
			continue
		}
		used[l.Digest] = true // it may be listed twice
		if derr := s.discardDir(filepath.Dir(l.Path), gone); derr != nil {
			err = errors.Join(err, derr)
			continue
		}
		removed = append(removed, l)
	}

	return removed, err
}

// visible returns the layers of which an image shows something: without a lower one that is listed
// again above, which would be the same directory twice for overlayfs (IMG-35), and without those below
// a layer that hides everything.
func (s *Store) visible(digests []string) (kept []string, err error) {
	for _, digest := range slices.Backward(digests) {
		if slices.Contains(kept, digest) {
			continue
		}

		kept = append(kept, digest)
		hex, err := ParseDigest(digest)
		if err != nil {
			return nil, err
		}

		meta, err := readLayerMeta(s.path("layers", hex), hex)
		if err != nil {
			return nil, err
		}
		if meta.OpaqueRoot {
			break
		}
	}

	slices.Reverse(kept)
	return kept, nil
}
