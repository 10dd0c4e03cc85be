package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// admit reads an archive, applies the policy and writes the canonical stream. It uses only these
// two streams; AdmitMain runs it in a child that cannot do anything else. The error is a *refusal,
// or an error of w.
func admit(r io.Reader, w io.Writer, k kind, b Bounds) error {
	b = b.WithDefaults()
	input := &countingReader{r: r}
	plain, err := io.Reader(input), error(nil)
	if k != layerTree { // a layer is named by the digest of its uncompressed bytes
		plain, err = decompress(input)
	}
	if err != nil {
		return asRefusal("", err)
	}

	buffered := bufio.NewReaderSize(plain, 512)
	start, _ := buffered.Peek(512) // the tar reader meets and returns the same error
	a := &admission{
		kind:   k,
		bounds: b,
		input:  input,
		plain:  &countingReader{r: buffered},
	}

	a.members = tar.NewReader(a.plain)
	if a.out, err = newEncoder(w); err != nil {
		return err
	}

	for {
		h, err := a.members.Next()
		if err == io.EOF {
			break
		}
		if err != nil && a.entries == 0 && !windowExceeded(err) {
			if what := foreignFormat(start); what != "" {
				return &refusal{kind: kindMalformed, reason: what}
			}
		}
		if err != nil {
			return asRefusal("", err)
		}
		if err := a.member(h); err != nil {
			return err
		}
	}

	if err := a.checkEnd(); err != nil {
		return err
	}
	if a.entries == 0 && k != layerTree {
		return &refusal{kind: kindMalformed, reason: "it has no members: an image needs at least the programs to run"}
	}
	return a.out.End()
}

// foreignFormat names the format of a file that starts with these bytes and is not a tar. It is empty
// for a file that may be a tar.
func foreignFormat(start []byte) string {
	for _, f := range []struct{ magic, name string }{
		{"PK", "a zip archive"}, {"BZh", "compressed by bzip2"}, {"7z\xbc\xaf", "a 7-Zip archive"}, {"\x7fELF", "a program"},
		{"070701", "a cpio archive"}, {"!<arch>", "a Debian package or ar archive"}, {"hsqs", "a squashfs image"}, {"{", "JSON"},
	} {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return "it is " + f.name + ": use a .tar, .tar.gz, .tar.zst or .tar.xz"
		}
	}
	if len(start) < 262 || string(start[257:262]) != "ustar" { // POSIX and GNU alike
		return "it is not a tar archive: use a .tar, .tar.gz, .tar.zst or .tar.xz"
	}
	return ""
}

// An admission is the state of one archive during its admission.
type admission struct {
	kind          kind
	bounds        Bounds
	input, plain  *countingReader // before and after decompression
	members       *tar.Reader
	out           *encoder
	dockerArchive dockerArchive

	entries, bytes int64 // declared by headers so far
	unpacked       int64 // bytes of contents read so far
	tail           int64 // offset in plain at which the last member's content ended
}

// member admits one member with its content.
func (a *admission) member(h *tar.Header) error {
	a.entries++
	a.bytes += h.Size
	switch {
	case a.entries > a.bounds.Entries:
		return &refusal{kindTooLarge, h.Name, fmt.Sprintf("more than %d members", a.bounds.Entries)}
	case h.Size > a.bounds.Bytes || a.bytes > a.bounds.Bytes:
		return &refusal{kindTooLarge, h.Name, fmt.Sprintf("more than %d bytes unpacked", a.bounds.Bytes)}
	}

	e, skip, err := a.kind.decide(h)
	if err != nil {
		return err
	}
	if skip == "" && a.kind != layerTree && a.dockerArchive.detect(e) {
		return &refusal{kind: kindMalformed, reason: dockerArchiveReason}
	}

	body := &ratioReader{r: a.members, a: a, member: h.Name}
	switch {
	case skip != "":
		_, err = io.Copy(io.Discard, body)
	default:
		err = a.out.Entry(e, body)
	}

	if err == nil {
		// Read to the end of the content, so that the reader has only padding left.
		_, err = io.Copy(io.Discard, body)
	}

	a.tail = a.plain.n
	if body.err != nil {
		return asRefusal(h.Name, body.err)
	}
	return err
}

// checkEnd checks that the archive ends properly. archive/tar accepts the end of its input as the end
// of the archive, so a download cut off between two members would pass (IMG-18). Only zeros may
// follow the end marker: otherwise a second archive there would go unnoticed. Some tools write layers
// without a marker; the digest of a layer is known, and shows that it is complete.
func (a *admission) checkEnd() error {
	padding := -a.tail & 511
	if a.kind != layerTree && a.plain.n-a.tail-padding < 1024 {
		return &refusal{kind: kindTruncated, reason: "it has no end marker"}
	}

	buf := make([]byte, 1<<16)
	for {
		n, err := a.plain.Read(buf)
		for _, c := range buf[:n] {
			if c != 0 {
				return &refusal{kind: kindMalformed, reason: "there is data after the end of the archive"}
			}
		}

		if err == io.EOF { //nolint:errorlint // as io.Reader has it: a wrapped one is no end
			return nil
		}
		if err != nil {
			return asRefusal("", err)
		}
		if err := a.ratio(""); err != nil {
			return err
		}
	}
}

// ratio refuses an archive that unpacks to far more than its own size (IMG-14).
func (a *admission) ratio(member string) error {
	size := max(a.plain.n, a.unpacked) // a sparse file unpacks to more than its tar
	if size > ratioFloor && size/a.bounds.Ratio > a.input.n {
		return &refusal{kindTooLarge, member,
			fmt.Sprintf("%d bytes unpack to more than %d times as many", a.input.n, a.bounds.Ratio)}
	}
	return nil
}

// A countingReader counts what is read through it.
type countingReader struct {
	r io.Reader
	n int64
}

func (m *countingReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	return n, err
}

// A ratioReader reads one member's content and checks the ratio at each read. It records errors of
// the archive, which separates them from errors of the writer.
type ratioReader struct {
	r      io.Reader
	a      *admission
	member string
	err    error
}

func (r *ratioReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.a.unpacked += int64(n)
	if err == nil || err == io.EOF { //nolint:errorlint // as io.Reader has it: a wrapped one is no end
		if over := r.a.ratio(r.member); over != nil {
			err = over
		}
	}
	if err != nil && err != io.EOF { //nolint:errorlint // the same
		r.err = err
	}
	return n, err
}

// asRefusal turns an error of the archive's reader into a refusal.
func asRefusal(member string, err error) error {
	var r *refusal
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return &refusal{kindTruncated, member, "the download or copy was cut off"}
	case windowExceeded(err):
		return &refusal{kindTooLarge, member,
			fmt.Sprintf("unpacking it needs a window above %d MiB: compress it with a smaller one, for example with zstd -19",
				maxWindow>>20)}
	}
	return &refusal{kindMalformed, member, err.Error()}
}

// windowExceeded reports whether a zstd frame needs a window larger than maxWindow.
func windowExceeded(err error) bool {
	return errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded)
}
