package snapshot

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"os"

	"github.com/brig-sandbox/brig/api"
)

// A Writer writes the records of a snapshot into a file, behind the room for the description.
type Writer struct {
	out    *bufio.Writer
	sum    hash.Hash // of the records, and of the digests of contents
	file   hash.Hash // of the content that is being written
	room   int64     // bytes that may still be written
	full   error     // when there is no more room
	buffer []byte
	counts Counts
}

// Counts say how much is in a snapshot.
type Counts struct {
	Files  int64 // files, directories and links
	Bytes  int64 // of all files, without blocks of zeros
	Stored int64 // with names and modes, as it is on the disk
}

// NewWriter begins the records of a file. It fails with full when it would write more than room.
func NewWriter(f *os.File, room int64, full error) (*Writer, error) {
	if _, err := f.Seek(aboutSize, 0); err != nil {
		return nil, err
	}
	return &Writer{out: bufio.NewWriterSize(f, 256<<10), sum: sha256.New(), file: sha256.New(), room: room - aboutSize, full: full,
		counts: Counts{Stored: aboutSize}}, nil
}

func (w *Writer) write(b []byte) error {
	if w.room -= int64(len(b)); w.room < 0 {
		return w.full
	}
	w.counts.Stored += int64(len(b))
	_, err := w.out.Write(b)
	return err
}

// record writes one record.
func (w *Writer) record(r *record) error {
	if r.Kind != kindLeave && r.Kind != kindEnd {
		if w.counts.Files++; w.counts.Files > api.SnapshotFilesMax {
			return tooMany()
		}
	}
	w.buffer = r.append(w.buffer[:0])
	w.sum.Write(w.buffer)
	return w.write(w.buffer)
}

// tooMany is the error for more files than a snapshot can have.
func tooMany() error {
	return api.Refuse(api.CodeTooLarge, "there are more than %d files, directories and links: name the paths that you need, or "+
		"remove some", api.SnapshotFilesMax)
}

// chunk writes a part of the content of the last file. It writes no block of zeros.
func (w *Writer) chunk(offset int64, b []byte) error {
	for len(b) > 0 {
		n := 0
		for n < len(b) && !zeros(b[n:min(n+block, len(b))]) {
			n = min(n+block, len(b))
		}
		if n == 0 {
			skip := min(block, len(b))
			offset, b = offset+int64(skip), b[skip:]
			continue
		}

		head := binary.LittleEndian.AppendUint64(w.buffer[:0], uint64(offset))
		head = binary.LittleEndian.AppendUint32(head, uint32(n))
		if err := w.write(head); err != nil {
			return err
		}
		if err := w.write(b[:n]); err != nil {
			return err
		}
		w.buffer = head
		hashBlocks(w.file, offset, b[:n])
		w.counts.Bytes += int64(n)
		offset, b = offset+int64(n), b[n:]
	}
	return nil
}

// hashBlocks adds content to the digest of a file: each block with its place, so that the digest does not depend on the
// chunks in which it comes.
func hashBlocks(h hash.Hash, offset int64, b []byte) {
	var place [8]byte
	for len(b) > 0 {
		n := min(block, len(b))
		binary.LittleEndian.PutUint64(place[:], uint64(offset))
		h.Write(place[:])
		h.Write(b[:n])
		offset, b = offset+int64(n), b[n:]
	}
}

// endFile ends the content of a file.
func (w *Writer) endFile() error {
	var end [12]byte
	sum := w.file.Sum(nil)
	w.file.Reset()
	w.sum.Write(sum)
	if err := w.write(end[:]); err != nil {
		return err
	}
	return w.write(sum)
}

// Finish writes the end. Nothing is on disk before that.
func (w *Writer) Finish() (id string, c Counts, err error) {
	if err := w.record(&record{header: header{Kind: kindEnd}}); err != nil {
		return "", c, err
	}
	sum := w.sum.Sum(nil)
	if err := w.write(sum); err != nil {
		return "", c, err
	}
	return idOf(digest(sum)), w.counts, w.out.Flush()
}

var zeroBlock [block]byte

func zeros(b []byte) bool { return string(b) == string(zeroBlock[:len(b)]) }
