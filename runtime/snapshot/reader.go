package snapshot

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/brig-sandbox/brig/api"
)

// A reader reads the records of a snapshot. It believes nothing: the file may be damaged.
type reader struct {
	in    *bufio.Reader
	sum   hash.Hash
	file  hash.Hash
	depth int
	files int
	chunk []byte
}

// newReader begins with the records of a file, which it reads from its own position and moves no other's.
func newReader(f *os.File) *reader {
	return &reader{in: bufio.NewReaderSize(io.NewSectionReader(f, aboutSize, 1<<62), 256<<10), sum: sha256.New(), file: sha256.New(),
		chunk: make([]byte, maxChunk)}
}

// damaged replaces the end of a file that is too short.
func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged
	}
	return err
}

// next reads a record. The content of a file must be read before the next one.
func (r *reader) next() (*record, error) {
	b := r.chunk[:headerSize]
	if _, err := io.ReadFull(r.in, b); err != nil {
		return nil, damaged(err)
	}
	rec := &record{header: parseHeader(b)}
	text := r.chunk[headerSize : headerSize+int(rec.NameLen)+min(int(rec.TextLen), maxText+1)]
	if int(rec.TextLen) > maxText {
		return nil, errDamaged
	}
	if _, err := io.ReadFull(r.in, text); err != nil {
		return nil, damaged(err)
	}
	r.sum.Write(r.chunk[:headerSize+len(text)])
	rec.Name, rec.Text = string(text[:rec.NameLen]), string(text[rec.NameLen:])
	if err := rec.check(); err != nil {
		return nil, err
	}

	switch rec.Kind {
	case kindDir:
		r.depth++
	case kindLeave:
		r.depth--
	case kindEnd:
		return rec, r.end()
	}
	if r.files++; r.files > 2*api.SnapshotFilesMax || r.depth < 0 || r.depth > api.SnapshotDepthMax+1 ||
		r.depth == 0 && rec.Kind != kindLeave {
		return nil, errDamaged
	}
	return rec, nil
}

// end compares the digest.
func (r *reader) end() error {
	var is digest
	if _, err := io.ReadFull(r.in, is[:]); err != nil {
		return damaged(err)
	}
	if r.depth != 0 || digest(r.sum.Sum(nil)) != is {
		return errDamaged
	}
	return nil
}

// content reads the content of a file of a size, and gives each part to put; nil: nobody wants it. It returns the digest.
func (r *reader) content(size int64, put func(offset int64, b []byte) error) (sum digest, err error) {
	for last := int64(0); ; {
		var head [12]byte
		if _, err := io.ReadFull(r.in, head[:]); err != nil {
			return sum, damaged(err)
		}
		offset, n := int64(binary.LittleEndian.Uint64(head[:])), int64(binary.LittleEndian.Uint32(head[8:]))
		if n == 0 && offset == 0 {
			break
		}
		if n == 0 || n > maxChunk || offset < last || offset > size-n {
			return sum, errDamaged
		}
		last = offset + n

		b := r.chunk[:n]
		if _, err := io.ReadFull(r.in, b); err != nil {
			return sum, damaged(err)
		}
		hashBlocks(r.file, offset, b)
		if put != nil {
			if err := put(offset, b); err != nil {
				return sum, err
			}
		}
	}

	if _, err := io.ReadFull(r.in, sum[:]); err != nil {
		return sum, damaged(err)
	}
	if digest(r.file.Sum(nil)) != sum {
		return sum, errDamaged
	}
	r.file.Reset()
	r.sum.Write(sum[:])
	return sum, nil
}

const idPrefix = "sha256:"

func idOf(sum digest) string { return idPrefix + hex.EncodeToString(sum[:]) }
