package rootfs

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// admit reads an archive, applies the policy and writes the canonical stream.
// It touches nothing but its two streams; AdmitMain runs it in a child that can
// do nothing else. The error is a *refusal, or one of w's.
func admit(r io.Reader, w io.Writer, b Bounds) error {
	b = b.withDefaults()
	input := &meter{r: r}
	plain, err := decompress(input)
	if err != nil {
		return blame("", err)
	}
	whole := bufio.NewReaderSize(plain, 512)
	start, _ := whole.Peek(512) // what stopped it, the tar reader meets again
	a := &admission{
		bounds: b,
		input:  input,
		plain:  &meter{r: whole},
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
			if what := foreign(start); what != "" {
				return &refusal{kind: kindMalformed, reason: what}
			}
		}
		if err != nil {
			return blame("", err)
		}
		if err := a.member(h); err != nil {
			return err
		}
	}
	if err := a.finish(); err != nil {
		return err
	}
	if a.entries == 0 {
		return &refusal{kind: kindMalformed, reason: "it has no members: an image needs at least its programs"}
	}
	return a.out.End()
}

// foreign says what a file is that begins so and is no tar; empty for one that
// may be.
func foreign(start []byte) string {
	for _, f := range []struct{ magic, name string }{
		{"PK", "a zip archive"}, {"BZh", "compressed by bzip2"}, {"7z\xbc\xaf", "a 7-Zip archive"}, {"\x7fELF", "a program"},
		{"070701", "a cpio archive"}, {"!<arch>", "a Debian package or ar archive"}, {"hsqs", "a squashfs image"}, {"{", "JSON"},
	} {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return "it is " + f.name + ": give a .tar, .tar.gz, .tar.zst or .tar.xz"
		}
	}
	if len(start) < 262 || string(start[257:262]) != "ustar" { // POSIX and GNU alike
		return "it is no tar archive: give a .tar, .tar.gz, .tar.zst or .tar.xz"
	}
	return ""
}

// An admission is one archive on its way through.
type admission struct {
	bounds       Bounds
	input, plain *meter // before and after decompression
	members      *tar.Reader
	out          *encoder
	saved        saved

	entries, bytes int64 // declared by headers so far
	unpacked       int64 // of contents, as far as they were read
	tail           int64 // where in plain the last member's content ended
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
	e, skip, err := decide(h)
	if err != nil {
		return err
	}
	if skip == "" && a.saved.sees(e) {
		return &refusal{kind: kindMalformed, reason: savedReason}
	}
	body := &ratioReader{r: a.members, a: a, member: h.Name}
	switch {
	case skip != "":
		_, err = io.Copy(io.Discard, body)
	default:
		err = a.out.Entry(e, body)
	}
	if err == nil {
		// Past the last byte, so that the reader has nothing left but padding.
		_, err = io.Copy(io.Discard, body)
	}
	a.tail = a.plain.n
	if body.err != nil {
		return blame(h.Name, body.err)
	}
	return err
}

// finish insists on a proper end. archive/tar takes the end of its input for the
// end of the archive; a download cut off between two members would pass (IMG-18).
// What follows the end must be zeros: a second archive there is not one root
// would otherwise have been shown.
func (a *admission) finish() error {
	padding := -a.tail & 511
	if a.plain.n-a.tail-padding < 1024 {
		return &refusal{kind: kindTruncated, reason: "it has no end marker"}
	}
	buf := make([]byte, 1<<16)
	for {
		n, err := a.plain.Read(buf)
		for _, c := range buf[:n] {
			if c != 0 {
				return &refusal{kind: kindMalformed, reason: "something follows the end of the archive"}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return blame("", err)
		}
		if err := a.ratio(""); err != nil {
			return err
		}
	}
}

// ratio stops an archive that grows out of all proportion (IMG-14).
func (a *admission) ratio(member string) error {
	grown := max(a.plain.n, a.unpacked) // a sparse file unpacks to more than its tar
	if grown > ratioFloor && grown/a.bounds.Ratio > a.input.n {
		return &refusal{kindTooLarge, member, fmt.Sprintf("%d bytes unpack to more than %d times as many", a.input.n, a.bounds.Ratio)}
	}
	return nil
}

// A meter counts what is read through it.
type meter struct {
	r io.Reader
	n int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	return n, err
}

// A ratioReader reads one member's content, checks the ratio as it goes, and
// keeps the archive's errors apart from the writer's.
type ratioReader struct {
	r      io.Reader
	a      *admission
	member string
	err    error
}

func (r *ratioReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.a.unpacked += int64(n)
	if err == nil || err == io.EOF {
		if over := r.a.ratio(r.member); over != nil {
			err = over
		}
	}
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// blame turns an error of the archive's reader into a refusal.
func blame(member string, err error) error {
	var r *refusal
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return &refusal{kindTruncated, member, "the download or copy was cut off"}
	case windowExceeded(err):
		return &refusal{kindTooLarge, member, fmt.Sprintf("to unpack it takes a window above %d MiB: compress it with a smaller one, as zstd -19 does", maxWindow>>20)}
	}
	return &refusal{kindMalformed, member, err.Error()}
}

// windowExceeded reports whether a zstd frame asks for more to be remembered than maxWindow.
func windowExceeded(err error) bool {
	return errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded)
}
