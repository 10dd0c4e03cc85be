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

// Options say what is known about an archive beforehand.
type Options struct {
	Name         string       // stored under this name too; empty: by digest only
	ExpectDigest string       // "sha256:..."; empty: whatever it is
	Bounds       Bounds       // zero: the defaults
	Progress     func(Amount) // called now and then, from Import's goroutine; may be nil
}

// An Amount is how far an import has come.
type Amount struct {
	Entries  int64
	Unpacked int64 // bytes
}

func (a Amount) String() string {
	return fmt.Sprintf("%d members, %d MiB unpacked", a.Entries, a.Unpacked>>20)
}

// Import reads an archive to its end and stores the tree it describes, unless that is
// stored as it should be: a tree that Verify finds fault with is replaced. The
// archive is a tar, plain or compressed with gzip, zstd or xz. Until Import
// returns without an error nothing is listed; a partly written tree is removed,
// by Import or by the next Open.
//
// r is read by a goroutine that Import joins: a Read that blocks for ever blocks
// Import too, whatever ctx says.
//
// The error wraps *UnsafeError, ErrTruncated, ErrMalformed, ErrTooLarge or
// ErrDigest where the archive is to blame.
func (s *Store) Import(ctx context.Context, r io.Reader, o Options) (Image, error) {
	if o.Name != "" {
		if err := checkName(o.Name); err != nil {
			return Image{}, err
		}
	}
	if o.ExpectDigest != "" {
		if _, err := parseDigest(o.ExpectDigest); err != nil {
			return Image{}, err
		}
	}
	o.Bounds = o.Bounds.withDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, o.Bounds.Time,
		fmt.Errorf("%w: importing it took longer than %v", ErrTooLarge, o.Bounds.Time))
	defer cancel()
	work, err := s.newWork()
	if err != nil {
		return Image{}, err
	}
	img, err := s.importInto(ctx, work, r, o)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("no room for the image in %s: free some, or keep the store elsewhere (--data-dir): %w", s.dir, err)
	}
	return img, errors.Join(err, work.Close())
}

func (s *Store) importInto(ctx context.Context, work *work, r io.Reader, o Options) (Image, error) {
	// 1. The tree lies in the work directory, complete, under its final modes.
	src := &source{r: r, sum: sha256.New(), most: o.Bounds.Input}
	root, err := work.mkdir("root")
	if err != nil {
		return Image{}, err
	}
	defer root.Close()
	d, err := s.receive(ctx, work, src, root, o)
	if err != nil {
		return Image{}, err
	}
	// 2. The bytes were the expected ones, all of them.
	digest := "sha256:" + hex.EncodeToString(src.sum.Sum(nil))
	if o.ExpectDigest != "" && digest != o.ExpectDigest {
		return Image{}, fmt.Errorf("%w: it is %s, not %s: fetch it again, or correct the digest", ErrDigest, digest, o.ExpectDigest)
	}
	// 3. The tree has what every cell relies on, and is on disk.
	t := &tree{root: root}
	defer t.forget()
	if err := t.finish(); err != nil {
		return Image{}, err
	}
	record, err := work.record(ctx)
	if err != nil {
		return Image{}, err
	}
	meta := imageMeta{Digest: digest, Archive: src.n, Size: d.bytes, Entries: d.entries, Imported: time.Now().UTC(), Record: record}
	if err := work.writeMeta(meta); err != nil {
		return Image{}, err
	}
	if err := unix.Syncfs(int(root.Fd())); err != nil {
		return Image{}, fmt.Errorf("write image to disk: %w", err)
	}
	// 4. What is stored of that digest stays, but only if it is what was imported then.
	damaged, err := s.damaged(ctx, digest)
	if err != nil {
		return Image{}, err
	}
	// 5. It appears, whole, under its digest and then its name.
	img, err := s.publish(work, meta, o.Name, damaged)
	img.Replaced = damaged && err == nil
	return img, err
}

// receive drives the child: archive in, canonical stream out, tree on disk. It
// owns the feeding goroutine and joins it.
func (s *Store) receive(ctx context.Context, work *work, src *source, root *os.File, o Options) (*decoder, error) {
	empty, err := work.mkdir("empty")
	if err != nil {
		return nil, err
	}
	defer empty.Close()
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := newChild(ctx, empty, o.Bounds)
	if err := c.start(); err != nil {
		return nil, err
	}
	fed := make(chan error, 1)
	go func() {
		_, err := io.Copy(c.stdin, src)
		fed <- errors.Join(ignorePipe(err), c.stdin.Close())
	}()
	d, unpackErr := s.unpackFrom(ctx, c.stdout, root, o)
	if unpackErr != nil && !errors.Is(unpackErr, io.ErrUnexpectedEOF) {
		cancel() // the child is still talking: stop it
	}
	childErr := c.wait()
	feedErr := <-fed
	switch {
	case src.err != nil:
		return nil, fmt.Errorf("read archive: %w", src.err)
	case outer.Err() != nil:
		return nil, context.Cause(outer)
	case unpackErr != nil && !errors.Is(unpackErr, errStream):
		return nil, unpackErr
	case childErr != nil:
		return nil, childErr
	}
	if err := errors.Join(unpackErr, feedErr); err != nil {
		return nil, err
	}
	if !src.ended {
		return nil, fmt.Errorf("%w: the child was content before the archive ended", errStream)
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

// A source is the archive as given: digested and counted on its way to the
// child. Only the feeding goroutine uses it until it is joined.
type source struct {
	r     io.Reader
	sum   hash.Hash
	n     int64
	most  int64
	ended bool  // r has said io.EOF
	err   error // what else r said
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.sum.Write(p[:n])
	s.n += int64(n)
	switch {
	case err == io.EOF:
		s.ended = true
	case err != nil:
		s.err = err
	case s.n > s.most:
		s.err = fmt.Errorf("%w: it is longer than %d bytes", ErrTooLarge, s.most)
		err = s.err
	}
	return n, err
}

// ignorePipe drops the error of writing to a child that has seen enough; its
// report says why.
func ignorePipe(err error) error {
	if errors.Is(err, unix.EPIPE) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
