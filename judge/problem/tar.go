package problem

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/inputfile"
)

// The bounds of a tar archive besides those of every tree: what its headers may have on top of the
// files, and the window that decompressing may need (zstd --ultra -22 needs as much).
const (
	maxHeaders = 256 * api.MiB
	maxWindow  = 128 << 20
)

// Members of GNU tar that have no name in package tar: the name of the archive, and a directory of an
// incremental one, which has a list of its files.
const (
	tarLabel   = 'V'
	tarDumpDir = 'D'
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	tarMagic  = []byte("ustar") // at tarMagicAt
)

const tarMagicAt = 257

// isTar reports whether an archive begins as a tar does, plain or compressed with gzip or zstd.
func isTar(head []byte) bool {
	return bytes.HasPrefix(head, gzipMagic) || bytes.HasPrefix(head, zstdMagic) ||
		len(head) > tarMagicAt && bytes.HasPrefix(head[tarMagicAt:], tarMagic)
}

// openTar unpacks a tar archive into a file without a name, which Close removes: a tar has no list of
// its files, and a compressed one cannot be read from the middle.
func openTar(name string, in io.Reader, tolerant bool) (*Tree, error) {
	spool, err := unnamedFile()
	if err != nil {
		return nil, err
	}
	t := &Tree{label: name, files: map[string]treeFile{}, tolerant: tolerant, close: spool.Close}
	if err := t.unpackTar(in, spool); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), spool.Close())
	}
	return t, nil
}

// unnamedFile makes a file that no directory has, so that nothing of it is left whatever happens.
func unnamedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "brig-problem-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unpackTar reads the members of an archive. Neither an archive that unpacks to more than a tree may
// have, nor one with endless headers, is read to its end (TestTarsAreBounded).
func (t *Tree) unpackTar(in io.Reader, spool *os.File) error {
	packed := bufio.NewReaderSize(in, 1<<16)
	plain, closeDecoder, err := decompressed(packed)
	if err != nil {
		return err
	}
	defer closeDecoder()

	bounded := &io.LimitedReader{R: plain, N: int64(MaxBytes + maxHeaders)}
	ended := &endReader{in: bounded}
	archive := tar.NewReader(ended)
	var links []link
	targets := map[string]string{} // of the symbolic links so far
	var total int64
	for members := 0; ; members++ {
		h, err := archive.Next()

		// The bound comes first: an archive that it cuts looks incomplete to the reader.
		switch {
		case bounded.N <= 0:
			return ErrTooLarge
		case errors.Is(err, io.EOF) && ended.early():
			return errIncomplete
		case errors.Is(err, io.EOF):
			return t.finish(links)
		case errors.Is(err, io.ErrUnexpectedEOF) && members == 0 && ended.eof && plain != packed:
			return errors.New("what is compressed in it is no tar archive")
		case errors.Is(err, io.ErrUnexpectedEOF):
			return errIncomplete
		case err != nil:
			return fmt.Errorf("read the tar archive: %w", err)
		case members == MaxFiles:
			return fmt.Errorf("there are more than %d files", MaxFiles)
		}

		inside := strings.TrimSuffix(strings.TrimPrefix(h.Name, "./"), "/")
		if h.Typeflag == tar.TypeXGlobalHeader || h.Typeflag == tarLabel || inside == "" || inside == "." {
			continue
		}
		if h.Typeflag == tar.TypeDir || h.Typeflag == tarDumpDir || Ignored(inside) {
			if err := t.addFolder(inside); err != nil {
				return err
			}
			continue
		}

		// Symbolic links may lead forward, so finish resolves them. A hard link to one is such a link, too.
		target, toLink := targets[linkTarget(h)]
		if err := t.checkTarMember(h, inside, toLink); err != nil {
			if err := t.refuse(inside, err); err != nil {
				return err
			}
			continue
		}

		switch h.Typeflag {
		case tar.TypeReg:
			if total += h.Size; h.Size > int64(MaxBytes) || total > int64(MaxBytes) {
				return ErrTooLarge
			}

			f := treeFile{size: h.Size, executable: h.Mode&0o111 != 0, read: section(inside, spool, total-h.Size, h.Size)}
			if err := t.add(inside, f); err != nil {
				return err
			}
			if _, err := io.Copy(spool, archive); errors.Is(err, io.ErrUnexpectedEOF) && bounded.N <= 0 {
				return ErrTooLarge
			} else if errors.Is(err, io.ErrUnexpectedEOF) {
				return errIncomplete
			} else if err != nil {
				return fmt.Errorf("unpack %s into %s: %w", inside, os.TempDir(), inputfile.WithoutSyscall(err))
			}

		case tar.TypeLink:
			if toLink {
				links = append(links, link{inside, target})
				targets[inside] = target
				continue
			}
			if err := t.add(inside, t.files[linkTarget(h)]); err != nil {
				return err
			}

		case tar.TypeSymlink:
			links = append(links, link{inside, h.Linkname})
			targets[inside] = h.Linkname
		}
	}
}

// checkTarMember is an error if a member of this name cannot be read. toLink says
// that a hard link leads to a symbolic link.
func (t *Tree) checkTarMember(h *tar.Header, inside string, toLink bool) error {
	if err := memberName(inside, h.Name); err != nil {
		return err
	}

	switch h.Typeflag {
	case tar.TypeReg:
		switch {
		case sparse(h):
			return fmt.Errorf("%q is a sparse file: pack it without --sparse", inside)
		case t.tolerant && h.Size > MaxArchive:
			return &inputfile.TooLargeError{Path: inside, Size: api.Size(h.Size).About(), Limit: MaxArchive}
		}

	case tar.TypeLink:
		if !toLink && !t.Has(linkTarget(h)) {
			return fmt.Errorf("%q is a hard link to %q, which is not before it in the archive", inside, h.Linkname)
		}
	case tar.TypeSymlink:
	default:
		return fmt.Errorf("%q is neither a file nor a directory nor a link", inside)
	}

	return nil
}

// linkTarget is the name of the member to which a hard link leads.
func linkTarget(h *tar.Header) string { return strings.TrimPrefix(h.Linkname, "./") }

// errIncomplete is the error of an archive whose end is missing.
var errIncomplete = errors.New("the archive is incomplete, its end is missing: copy or download it again, or make it again")

// An endReader finds out whether a tar archive was cut between two of its members. It has an end, blocks of zeros,
// after which a tar.Reader reads nothing.
type endReader struct {
	in    io.Reader
	zeros int  // that it has read last
	eof   bool // there is nothing more
}

func (r *endReader) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	if rest := bytes.TrimRight(b[:n], "\x00"); len(rest) > 0 {
		r.zeros = n - len(rest)
	} else {
		r.zeros += n
	}
	r.eof = r.eof || errors.Is(err, io.EOF)
	return n, err
}

func (r *endReader) early() bool { return r.eof && r.zeros < 512 }

// sparse reports whether a member has holes, which cost an archive nothing.
func sparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return h.Typeflag == tar.TypeGNUSparse
}

// ErrTooLarge says that the files of a tree have more than MaxBytes.
var ErrTooLarge = fmt.Errorf("its files have more than %s unpacked", MaxBytes)

// decompressed is what an archive contains, and a function that releases the decompressor.
func decompressed(in *bufio.Reader) (io.Reader, func(), error) {
	head, err := in.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}

	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(in)
		return z, func() {}, err
	case bytes.HasPrefix(head, zstdMagic):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}

	return in, func() {}, nil
}

// section returns the function that reads size bytes of a file from at.
func section(name string, file *os.File, at, size int64) func(int64) ([]byte, error) {
	return func(maximum int64) ([]byte, error) {
		if size > maximum {
			return nil, &inputfile.TooLargeError{Path: name, Size: api.Size(size).About(), Limit: maximum}
		}
		content := make([]byte, size)
		_, err := io.ReadFull(io.NewSectionReader(file, at, size), content)
		return content, err
	}
}
