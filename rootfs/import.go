package rootfs

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Options configure an import.
type Options struct {
	Name         string       // the name of the stored image; empty: only the digest
	ExpectDigest string       // "sha256:..."; empty: any digest
	Bounds       Bounds       // zero: the defaults
	Progress     func(Amount) // called from time to time, from Import's goroutine; may be nil
}

// An Amount is the progress of an import.
type Amount struct {
	Entries  int64
	Unpacked int64 // bytes
}

func (a Amount) String() string {
	return fmt.Sprintf("%d members, %d MiB unpacked", a.Entries, a.Unpacked>>20)
}

// Import reads an archive to its end and stores the tree it describes. If the store already has the
// tree, Import keeps that one, unless Verify finds differences: then it replaces it. The archive is
// a tar, plain or compressed with gzip, zstd or xz. The store lists the image only when Import
// returns without an error; Import or the next Open removes a partly written tree.
//
// A goroutine that Import joins reads r: a Read that blocks forever blocks Import too, even if ctx
// is canceled.
//
// If the archive is the cause, the error wraps *UnsafeError, ErrTruncated, ErrMalformed,
// ErrTooLarge or ErrDigest.
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
	o.Bounds = o.Bounds.withDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, o.Bounds.Time,
		fmt.Errorf("%w: importing it took longer than %v", ErrTooLarge, o.Bounds.Time))
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
	src := &archiveReader{r: r, sum: sha256.New(), limit: o.Bounds.Input}
	root, err := staging.mkdir("root")
	if err != nil {
		return Image{}, err
	}
	defer root.Close()
	d, err := s.receive(ctx, staging, src, root, o)
	if err != nil {
		return Image{}, err
	}
	// 2. Check the digest of the whole archive.
	digest := "sha256:" + hex.EncodeToString(src.sum.Sum(nil))
	if o.ExpectDigest != "" && digest != o.ExpectDigest {
		return Image{}, fmt.Errorf("%w: its digest is %s, not %s: download it again, or correct the digest", ErrDigest, digest, o.ExpectDigest)
	}
	// 3. Add what every cell relies on, and sync the tree to disk.
	t := &tree{root: root}
	defer t.forget()
	if err := t.finalize(); err != nil {
		return Image{}, err
	}
	record, err := staging.record(ctx)
	if err != nil {
		return Image{}, err
	}
	meta := imageMeta{Digest: digest, Archive: src.n, Size: d.bytes, Entries: d.entries, Imported: time.Now().UTC(), Record: record}
	if err := staging.writeMeta(meta); err != nil {
		return Image{}, err
	}
	if err := unix.Syncfs(int(root.Fd())); err != nil {
		return Image{}, fmt.Errorf("write image to disk: %w", err)
	}
	// 4. Keep an image already stored under that digest, unless it has changed since its import.
	damaged, err := s.damaged(ctx, digest)
	if err != nil {
		return Image{}, err
	}
	// 5. Publish the complete tree under its digest, and then under its name.
	img, err := s.publish(staging, meta, o.Name, damaged)
	img.Replaced = damaged && err == nil
	return img, err
}

// receive runs the child: it sends the archive to the child and unpacks the child's canonical
// stream into root. It starts the goroutine that sends the archive, and joins it.
func (s *Store) receive(ctx context.Context, staging *StagingDir, src *archiveReader, root *os.File, o Options) (*decoder, error) {
	empty, err := staging.mkdir("empty")
	if err != nil {
		return nil, err
	}
	defer empty.Close()
	callerCtx := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := newChild(ctx, empty, o.Bounds)
	if err := c.start(); err != nil {
		return nil, err
	}
	feedDone := make(chan error, 1)
	go func() {
		_, err := io.Copy(c.stdin, src)
		feedDone <- errors.Join(ignorePipe(err), c.stdin.Close())
	}()
	d, unpackErr := s.unpackFrom(ctx, c.stdout, root, o)
	if unpackErr != nil && !errors.Is(unpackErr, io.ErrUnexpectedEOF) {
		cancel() // the child may still be writing: stop it
	}
	childErr := c.wait()
	feedErr := <-feedDone
	switch {
	case src.err != nil:
		return nil, fmt.Errorf("read archive: %w", src.err)
	case callerCtx.Err() != nil:
		return nil, context.Cause(callerCtx)
	case unpackErr != nil && !errors.Is(unpackErr, errStream):
		return nil, unpackErr
	case childErr != nil:
		return nil, childErr
	}
	if err := errors.Join(unpackErr, feedErr); err != nil {
		return nil, err
	}
	if !src.ended {
		return nil, fmt.Errorf("%w: the child stopped reading before the archive ended", errStream)
	}
	return d, nil
}

func (s *Store) unpackFrom(ctx context.Context, r io.Reader, root *os.File, o Options) (*decoder, error) {
	d, err := newDecoder(bufio.NewReaderSize(r, 1<<18), o.Bounds)
	if err != nil {
		return nil, err
	}
	d.progress = o.Progress
	return d, unpack(ctx, d, root)
}

// A archiveReader reads the original archive for the child, and hashes and counts its bytes. Only the
// goroutine that sends the archive uses it, until that goroutine is joined.
type archiveReader struct {
	r     io.Reader
	sum   hash.Hash
	n     int64
	limit int64
	ended bool  // r has returned io.EOF
	err   error // any other error of r, or ErrTooLarge
}

func (s *archiveReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.sum.Write(p[:n])
	s.n += int64(n)
	switch {
	case err == io.EOF:
		s.ended = true
	case err != nil:
		s.err = err
	case s.n > s.limit:
		s.err = fmt.Errorf("%w: it is longer than %d bytes", ErrTooLarge, s.limit)
		err = s.err
	}
	return n, err
}

// ignorePipe drops the error of writing to a child that stopped reading: the child's report says
// why.
func ignorePipe(err error) error {
	if errors.Is(err, unix.EPIPE) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
