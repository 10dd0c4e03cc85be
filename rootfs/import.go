package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// Options configure an import.
type Options struct {
	Name         string               // the name of the stored image; empty: only the digest
	ExpectDigest string               // "sha256:..."; empty: any digest
	Bounds       archive.Bounds       // zero: the defaults
	Progress     func(archive.Amount) // called from time to time, from Import's goroutine; may be nil
}

// Import reads an archive to its end and stores the tree it describes. If the store already has the
// tree, Import keeps that one, unless Verify finds differences: then it replaces it. The archive is
// a tar, plain or compressed with gzip, zstd or xz. The store lists the image only when Import
// returns without an error; Import or the next Open removes a partly written tree.
//
// A goroutine that Import joins reads r: a Read that blocks forever blocks Import too, even if ctx
// is canceled.
//
// If the archive is the cause, the error wraps *archive.UnsafeError, archive.ErrTruncated,
// archive.ErrMalformed, archive.ErrTooLarge or ErrDigest.
func (s *Store) Import(ctx context.Context, r io.Reader, o Options) (Image, error) {
	if o.Name != "" {
		if err := CheckName(o.Name); err != nil {
			return Image{}, err
		}
	}
	if o.ExpectDigest != "" {
		if _, err := ParseDigest(o.ExpectDigest); err != nil {
			return Image{}, err
		}
	}

	o.Bounds = o.Bounds.WithDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, o.Bounds.Time,
		fmt.Errorf("%w: importing it took longer than %v", archive.ErrTooLarge, o.Bounds.Time))
	defer cancel()

	staging, err := s.newStagingDir()
	if err != nil {
		return Image{}, err
	}

	img, err := s.importInto(ctx, staging, r, o)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("no space for the image in %s: free some, or move the store (--data-dir): %w", s.dir, err)
	}
	return img, errors.Join(err, staging.Close())
}

func (s *Store) importInto(ctx context.Context, staging *StagingDir, r io.Reader, o Options) (Image, error) {
	// 1. Write the complete tree, with its final modes, to the staging directory.
	root, err := staging.mkdir("root")
	if err != nil {
		return Image{}, err
	}
	defer root.Close()

	empty, err := staging.mkdir("empty")
	if err != nil {
		return Image{}, err
	}
	defer empty.Close()

	got, err := archive.Unpack(ctx, r, root, empty, o.Bounds, o.Progress)
	if err != nil {
		return Image{}, err
	}

	// 2. Check the digest of the whole archive.
	if o.ExpectDigest != "" && got.Digest != o.ExpectDigest {
		return Image{}, fmt.Errorf("%w: its digest is %s, not %s: download it again, or correct the digest", ErrDigest,
			got.Digest, o.ExpectDigest)
	}

	// 3. Add what every cell relies on, and sync the tree to disk.
	if err := archive.Finalize(root, got.Sums); err != nil {
		return Image{}, err
	}

	record, _, err := staging.record(ctx, got.Sums)
	if err != nil {
		return Image{}, err
	}

	meta := imageMeta{Digest: got.Digest, Archive: got.Archive, Size: got.Bytes, Entries: got.Entries,
		Imported: time.Now().UTC(), Record: record}
	if err := staging.writeMeta(meta); err != nil {
		return Image{}, err
	}
	if err := unix.Syncfs(int(root.Fd())); err != nil {
		return Image{}, fmt.Errorf("write image to disk: %w", err)
	}

	// 4. Keep an image already stored under that digest, unless it has changed since its import.
	damaged, err := s.damaged(ctx, got.Digest)
	if err != nil {
		return Image{}, err
	}

	// 5. Publish the complete tree under its digest, and then under its name.
	img, err := s.publish(staging, meta, o.Name, damaged)
	img.Replaced = damaged && err == nil
	return img, err
}
