package rootfs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// A Verification lists the differences between a stored tree and the imported one, as sorted paths
// of members.
type Verification struct {
	Image   Image
	Amount  archive.Amount // members and bytes checked
	Changed []string
	Missing []string
	Extra   []string
}

// OK reports whether the tree is the same as when it was imported.
func (v Verification) OK() bool { return len(v.Changed)+len(v.Missing)+len(v.Extra) == 0 }

// Verify reads a whole stored tree again and compares it with the record made when it was imported.
// The error wraps ErrNotFound if the image is removed in the meantime.
func (s *Store) Verify(ctx context.Context, nameOrDigest string) (Verification, error) {
	img, err := s.Lookup(nameOrDigest)
	if err != nil {
		return Verification{}, err
	}
	return s.verify(ctx, img, nameOrDigest, false)
}

// VerifyMetadata is Verify of an image that Lookup returned, by kinds, modes, owners, sizes and times alone: it
// reads no file, and takes some milliseconds. A file whose bytes the disk changed is not found.
func (s *Store) VerifyMetadata(ctx context.Context, img Image) (Verification, error) {
	return s.verify(ctx, img, img.Digest, true)
}

func (s *Store) verify(ctx context.Context, img Image, nameOrDigest string, metadata bool) (_ Verification, err error) {
	lock, err := s.LockImage(img)
	if err != nil {
		return Verification{}, err
	}
	defer func() {
		removed, cerr := lock.Close()
		if err = errors.Join(err, cerr); removed {
			err = errors.Join(s.notFound(nameOrDigest), s.Clean())
		}
	}()

	v := Verification{Image: img}
	for i, f := range lock.dirs { // the image's own, then those of its layers
		dir := fmt.Sprintf("/proc/self/fd/%d", f.Fd()) // valid even if the directory is moved
		var sum, prefix string
		if i == 0 {
			meta, err := readMeta(dir, strings.TrimPrefix(img.Digest, "sha256:"))
			if err != nil {
				return Verification{}, fmt.Errorf("verify image %s: %w", nameOrDigest, err)
			}
			sum = meta.Record
		} else {
			digest := img.Layers[i-1].Digest
			meta, err := readLayerMeta(dir, strings.TrimPrefix(digest, "sha256:"))
			if err != nil {
				return Verification{}, fmt.Errorf("verify image %s: %w", nameOrDigest, err)
			}
			sum, prefix = meta.Record, digest[:19]+":"
		}

		if err := v.compare(ctx, dir, sum, prefix, metadata); err != nil {
			return Verification{}, fmt.Errorf("verify image %s: %w", nameOrDigest, err)
		}
	}

	return v, nil
}

// compare compares the tree in dir with its record, whose sha256 is sum. The names of differences get
// the prefix.
func (v *Verification) compare(ctx context.Context, dir, sum, prefix string, metadata bool) error {
	c, err := compareTree(ctx, dir, sum, comparing{metadata: metadata, seen: func(size int64) {
		v.Amount.Entries++
		v.Amount.Unpacked += size
	}})
	if err != nil {
		return err
	}

	add := func(to *[]string, names []string) {
		for _, name := range names {
			*to = append(*to, prefix+name)
		}
	}

	add(&v.Changed, slices.Sorted(slices.Values(c.changed)))
	add(&v.Missing, slices.Sorted(maps.Keys(c.missing)))
	add(&v.Extra, slices.Sorted(maps.Keys(c.extra)))
	return nil
}

// damaged reports whether an image is stored but differs from the imported one or cannot be read.
func (s *Store) damaged(ctx context.Context, digest string) (bool, error) {
	v, err := s.Verify(ctx, digest)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		return s.Has(digest), nil
	}
	return !v.OK(), nil
}

// ErrNoRecord means that an image cannot be verified: there is no valid record to compare its tree
// with.
var ErrNoRecord = errors.New("there is no valid record of its tree: build or import it again")
