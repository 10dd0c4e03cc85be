package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The canonical stream is what the admission child writes and root reads:
//
//	magic    8 bytes "brigfs\x00\x02"; the last is the version
//	entry    24 bytes, little-endian, then path, link and content
//	  0  kind   u8    d f l h, or E for the end; of a layer also
//	                  w: the layers below have this name no more
//	                  o: of this directory they have nothing more (an empty path: of the root)
//	  1  zero   u8
//	  2  mode   u16   at most 0755
//	  4  path   u16   length
//	  6  link   u16   length
//	  8  mtime  i64   nanoseconds since 1970, not negative
//	  16 size   u64   of the content; files only
//	end      an entry of kind E: mtime holds the number of entries, size the
//	         bytes of all contents; nothing follows
//
// Every length has a bound that is checked before anything is allocated.
const canonicalMagic = "brigfs\x00\x02"

const entrySize = 24

type entryKind byte

const (
	kindDir      entryKind = 'd'
	kindFile     entryKind = 'f'
	kindSymlink  entryKind = 'l'
	kindHardlink entryKind = 'h'
	kindWhiteout entryKind = 'w'
	kindOpaque   entryKind = 'o'
	kindEnd      entryKind = 'E'
)

// An entry is one admitted member. Path is relative and slash-separated, without empty, "." or ".."
// parts. The same holds for the Link of a hard link.
type entry struct {
	Kind  entryKind
	Mode  uint16
	MTime int64
	Size  int64
	Path  string
	Link  string
}

// An encoder writes a canonical stream.
type encoder struct {
	w              io.Writer
	entries, bytes int64
}

func newEncoder(w io.Writer) (*encoder, error) {
	_, err := io.WriteString(w, canonicalMagic)
	return &encoder{w: w}, err
}

// Entry writes e and, for a file, e.Size bytes from body.
func (c *encoder) Entry(e entry, body io.Reader) error {
	c.entries++
	if err := c.header(e); err != nil {
		return err
	}
	if e.Kind != kindFile {
		return nil
	}

	c.bytes += e.Size
	n, err := io.CopyN(c.w, body, e.Size)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("content ends after %d of %d bytes: %w", n, e.Size, io.ErrUnexpectedEOF)
	}
	return err
}

// End closes the stream.
func (c *encoder) End() error {
	return c.header(entry{Kind: kindEnd, MTime: c.entries, Size: c.bytes})
}

func (c *encoder) header(e entry) error {
	b := make([]byte, entrySize, entrySize+len(e.Path)+len(e.Link))
	b[0] = byte(e.Kind)
	binary.LittleEndian.PutUint16(b[2:], e.Mode)
	binary.LittleEndian.PutUint16(b[4:], uint16(len(e.Path)))
	binary.LittleEndian.PutUint16(b[6:], uint16(len(e.Link)))
	binary.LittleEndian.PutUint64(b[8:], uint64(e.MTime))
	binary.LittleEndian.PutUint64(b[16:], uint64(e.Size))
	_, err := c.w.Write(append(append(b, e.Path...), e.Link...))
	return err
}

// errStream means that the stream deviates from the format: the child is compromised or died.
var errStream = errors.New("invalid canonical stream")

// A decoder reads a canonical stream and trusts nothing in it.
type decoder struct {
	r      io.Reader
	bounds Bounds

	entries, bytes, names int64
	blocks                int64        // of all entries, on disk
	dirs, implied         int64        // directories made, and those of them without an entry
	left                  int64        // unread bytes of the current file's content
	layer                 bool         // whiteouts and opaque directories are allowed
	progress              func(Amount) // may be nil
}

func newDecoder(r io.Reader, b Bounds) (*decoder, error) {
	var magic [len(canonicalMagic)]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", errStream, unexpected(err))
	}
	if string(magic[:]) != canonicalMagic {
		return nil, fmt.Errorf("%w: it starts with %q", errStream, magic)
	}
	return &decoder{r: r, bounds: b.WithDefaults()}, nil
}

// Next returns the next entry, or io.EOF after a proper end. The caller must then read the whole
// content of a file from the decoder.
func (d *decoder) Next() (entry, error) {
	if d.left != 0 {
		return entry{}, fmt.Errorf("%w: %d bytes of content unread", errStream, d.left)
	}

	var b [entrySize]byte
	if _, err := io.ReadFull(d.r, b[:]); err != nil {
		return entry{}, fmt.Errorf("%w: %w", errStream, unexpected(err))
	}

	e := entry{
		Kind:  entryKind(b[0]),
		Mode:  binary.LittleEndian.Uint16(b[2:]),
		MTime: int64(binary.LittleEndian.Uint64(b[8:])),
		Size:  int64(binary.LittleEndian.Uint64(b[16:])),
	}

	path, link := int(binary.LittleEndian.Uint16(b[4:])), int(binary.LittleEndian.Uint16(b[6:]))
	if e.Kind == kindEnd && b[1] == 0 {
		return entry{}, d.end(e, path, link)
	}

	d.entries++
	d.names += int64(path + link)

	// The bounds are checked before anything is allocated or read: the archive may have taken over the
	// child that wrote these numbers.
	switch {
	case path > maxPath || link > maxPath:
		return entry{}, fmt.Errorf("%w: names of %d and %d bytes", errStream, path, link)
	case d.names > maxNames: // the child admits them one by one
		return entry{}, fmt.Errorf("%w: its names have more than %d bytes together: use shorter ones, or fewer files",
			ErrTooLarge, maxNames)
	case d.entries+d.implied > d.bounds.Entries:
		return entry{}, d.tooMany()
	case b[1] != 0 || e.Mode&^0o755 != 0 || e.MTime < 0 || e.Size < 0:
		return entry{}, fmt.Errorf("%w: entry % x", errStream, b)
	case e.Size > d.bounds.Bytes-d.bytes-d.dirs*DirBytes:
		return entry{}, d.tooLarge()
	}

	text := make([]byte, path+link)
	if _, err := io.ReadFull(d.r, text); err != nil {
		return entry{}, fmt.Errorf("%w: %w", errStream, unexpected(err))
	}

	e.Path, e.Link = string(text[:path]), string(text[path:])
	d.bytes += e.Size
	d.blocks += max(1, (e.Size+blockBytes-1)/blockBytes)
	d.left = e.Size
	if d.progress != nil && (d.entries%256 == 0 || e.Size > 1<<20) {
		d.progress(Amount{Entries: d.entries, Unpacked: d.bytes})
	}
	return e, e.check(d.layer)
}

// countDir counts a directory that is about to be made. One member may imply as many as a name has
// parts, and its archive compresses well: a layer of 14 KB took 123,000 inodes and was counted as a
// thousand empty files (IMG-50).
func (d *decoder) countDir(implied bool) error {
	if d.dirs++; implied {
		d.implied++
	}
	switch {
	case d.entries+d.implied > d.bounds.Entries:
		return d.tooMany()
	case d.dirs*DirBytes > d.bounds.Bytes-d.bytes:
		return d.tooLarge()
	}
	return nil
}

func (d *decoder) tooMany() error {
	return fmt.Errorf("%w: more than %d members and directories", ErrTooLarge, d.bounds.Entries)
}

func (d *decoder) tooLarge() error {
	return fmt.Errorf("%w: more than %d bytes unpacked", ErrTooLarge, d.bounds.Bytes)
}

// check verifies that an entry is one that decide could have returned.
func (e entry) check(layer bool) error {
	clean := func(p string) bool {
		c, err := cleanName(p)
		return err == nil && c == p && c != ""
	}
	ok := clean(e.Path) && !strings.HasPrefix(e.Path, "dev/")
	switch e.Kind {
	case kindFile:
		ok = ok && e.Link == ""
	case kindDir:
		ok = ok && e.Link == "" && e.Size == 0
	case kindSymlink:
		ok = ok && checkTarget(e.Link) == nil && e.Size == 0
	case kindHardlink:
		ok = ok && clean(e.Link) && e.Size == 0
	case kindWhiteout, kindOpaque:
		ok = layer && (ok || e.Kind == kindOpaque && e.Path == "") && e.Link == "" && e.Size == 0 &&
			e.Mode == 0 && e.MTime == 0
	default:
		ok = false
	}

	if !ok {
		return fmt.Errorf("%w: entry of kind %q at %q, link %q, size %d", errStream, byte(e.Kind), e.Path, e.Link, e.Size)
	}
	return nil
}

// Read reads the current file's content.
func (d *decoder) Read(p []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > d.left {
		p = p[:d.left]
	}
	n, err := d.r.Read(p)
	d.left -= int64(n)
	if errors.Is(err, io.EOF) && d.left > 0 {
		err = fmt.Errorf("%w: %w", errStream, io.ErrUnexpectedEOF)
	}
	return n, err
}

func (d *decoder) end(e entry, path, link int) error {
	if e.MTime != d.entries || e.Size != d.bytes || path != 0 || link != 0 || e.Mode != 0 {
		return fmt.Errorf("%w: it ends with %d entries and %d bytes, having sent %d and %d", errStream, e.MTime,
			e.Size, d.entries, d.bytes)
	}
	if n, err := io.ReadFull(d.r, make([]byte, 1)); n != 0 || err != io.EOF {
		return fmt.Errorf("%w: there is data after its end (%d bytes, %v)", errStream, n,
			err) //nolint:errorlint // io.EOF must not be found in it
	}
	return io.EOF
}

// unexpected keeps io.EOF out of the errors of a cut stream: a caller takes it for the proper end.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
