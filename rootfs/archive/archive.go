package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Contents is what an archive had.
type Contents struct {
	Digest  string // "sha256:..." of every byte of the archive
	Archive int64  // bytes of the archive
	Entries int64  // members, and directories for which it had no member
	Bytes   int64  // of all files, unpacked, and DirBytes for each directory
	Disk    int64  // bytes on disk: files in whole blocks, and a block for every other entry
	Sums    Sums

	// Of a layer alone.
	OpaqueRoot bool     // it hides all that the layers below it have
	Implied    []string // directories for which it had no member of their own, sorted
	Whiteouts  []string // directories that have whiteouts, sorted, without the root
}

// A kind says what an archive describes: the whole tree of an image, or what one layer changes in it.
type kind int

const (
	wholeTree kind = iota
	layerTree
)

// Unpack reads an archive to its end and writes the tree that it describes to tree, an empty
// directory. It needs root, and a second empty directory, which becomes the root of the admission
// child. It calls progress, if that is not nil, from time to time from its own goroutine. After an
// error the tree is incomplete, and the caller removes it.
//
// A goroutine that Unpack joins reads r: a Read that blocks forever blocks Unpack too, even if ctx
// is canceled.
//
// If the archive is the cause, the error wraps *UnsafeError, ErrTruncated, ErrMalformed or
// ErrTooLarge.
func Unpack(ctx context.Context, r io.Reader, tree, empty *os.File, b Bounds, progress func(Amount)) (Contents, error) {
	return unpackKind(ctx, r, tree, empty, wholeTree, b, progress)
}

// UnpackLayer is Unpack for one layer of an image, an uncompressed tar. Its whiteouts and opaque
// directories become those of overlayfs, and the permissions of the owner of each file become those
// of all: the owner may be any user, and a program runs as uid 1000.
func UnpackLayer(ctx context.Context, r io.Reader, tree, empty *os.File, b Bounds,
	progress func(Amount)) (Contents, error) {
	return unpackKind(ctx, r, tree, empty, layerTree, b, progress)
}

func unpackKind(ctx context.Context, r io.Reader, root, empty *os.File, k kind, b Bounds,
	progress func(Amount)) (Contents, error) {
	b = b.WithDefaults()
	src := &archiveReader{r: r, sum: sha256.New(), limit: b.Input}
	callerCtx := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	c := newChild(ctx, empty, k, b)
	if err := c.start(); err != nil {
		return Contents{}, err
	}

	// The child answers while it still reads. If one goroutine sent and received, it and the child could
	// each wait for the other at a full pipe.
	inputDone := make(chan error, 1)
	go func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{c.stdin}, struct{ io.Reader }{src}, make([]byte, 256<<10))
		inputDone <- errors.Join(ignorePipe(err), c.stdin.Close())
	}()
	t := &tree{root: root, sums: Sums{}, layer: k == layerTree}
	d, unpackErr := unpackFrom(ctx, c.stdout, t, b, progress)
	if unpackErr != nil && !errors.Is(unpackErr, io.ErrUnexpectedEOF) {
		cancel() // the child may still be writing: stop it
	}

	childErr := c.wait()
	inputErr := <-inputDone

	// One failure causes others: an archive that ends early is an error of the child, too. The first cause
	// in this order is the one to report.
	switch {
	case src.err != nil:
		return Contents{}, fmt.Errorf("read archive: %w", src.err)
	case callerCtx.Err() != nil:
		return Contents{}, context.Cause(callerCtx)
	case unpackErr != nil && !errors.Is(unpackErr, errStream):
		return Contents{}, unpackErr
	case childErr != nil:
		return Contents{}, childErr
	}

	if err := errors.Join(unpackErr, inputErr); err != nil {
		return Contents{}, err
	}

	// The digest is of the bytes that were read. A child that stops early would make it that of a part.
	if !src.ended {
		return Contents{}, fmt.Errorf("%w: the child stopped reading before the archive ended", errStream)
	}

	digest := "sha256:" + hex.EncodeToString(src.sum.Sum(nil))
	return Contents{Digest: digest, Archive: src.n, Entries: d.entries + d.implied, Bytes: d.bytes + d.dirs*DirBytes,
		Disk: (d.blocks + d.implied) * blockBytes, Sums: t.sums,
		OpaqueRoot: t.opaqueRoot, Implied: slices.Sorted(maps.Keys(t.implied)),
		Whiteouts: slices.Sorted(maps.Keys(t.whiteoutDirs))}, nil
}

func unpackFrom(ctx context.Context, r io.Reader, t *tree, b Bounds, progress func(Amount)) (*decoder, error) {
	d, err := newDecoder(bufio.NewReaderSize(r, 1<<18), b)
	if err != nil {
		return nil, err
	}
	d.layer, d.progress, t.made = t.layer, progress, d.countDir
	return d, unpack(ctx, d, t)
}

// An archiveReader reads the original archive for the child, and hashes and counts its bytes. Only the
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
