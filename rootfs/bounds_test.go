package rootfs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

func TestBombsAreStopped(t *testing.T) {
	// IMG-14, FIO-16: every way to unpack to more than the archive's size suggests.
	var many members
	for i := range 300 {
		many = append(many, file(fmt.Sprint("f", i), ""))
	}

	for _, tt := range []struct {
		name    string
		archive func(t *testing.T) []byte
		bounds  archive.Bounds
	}{
		{"zeros in gzip", func(t *testing.T) []byte { return zeros(t, 96<<20, gzipWriter) }, archive.Bounds{}},
		{"zeros in zstd", func(t *testing.T) []byte { return zeros(t, 96<<20, zstdWriter) }, archive.Bounds{}},
		{"zeros after the end", func(t *testing.T) []byte { return padded(t, 96<<20) }, archive.Bounds{}},
		{"more bytes than allowed", func(t *testing.T) []byte { return tarOf(t, file("a", strings.Repeat("a", 5000))) },
			archive.Bounds{Bytes: 4999}},
		{"more bytes than allowed together", func(t *testing.T) []byte {
			return tarOf(t, file("a", strings.Repeat("a", 3000)), file("b", strings.Repeat("b", 3000)))
		}, archive.Bounds{Bytes: 4999}},
		{"a longer archive than allowed", func(t *testing.T) []byte { return tarOf(t, many...) }, archive.Bounds{Input: 10_000}},
		{"more members than allowed", func(t *testing.T) []byte { return tarOf(t, many...) }, archive.Bounds{Entries: 299}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, tarball := newStore(t), tt.archive(t)
			start := time.Now()
			_, err := s.Import(t.Context(), bytes.NewReader(tarball), Options{Bounds: tt.bounds})
			if !errors.Is(err, archive.ErrTooLarge) {
				t.Errorf("Import: %v; want ErrTooLarge", err)
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("it took %v", took)
			}
			mustBeEmpty(t, s)
		})
	}
}

func TestLimitsAreNotOffByOne(t *testing.T) {
	s := newStore(t)
	tarball := tarOf(t, file("a", strings.Repeat("a", 5000)), file("b", ""))
	if _, err := s.Import(t.Context(), bytes.NewReader(tarball),
		Options{Bounds: archive.Bounds{Bytes: 5000, Entries: 2, Input: int64(len(tarball))}}); err != nil {
		t.Error(err)
	}
}

func TestCompressibleFilesAreNoBombs(t *testing.T) {
	// A large file, whose first bytes say little about the compression of the rest.
	s := newStore(t)
	text := strings.Repeat("the quick brown fox "+strings.Repeat("jumps", 3)+"\n", 1)
	var b strings.Builder
	for i := 0; b.Len() < 66<<20; i++ {
		fmt.Fprintf(&b, "%d %s", i*i, text)
	}
	if _, err := s.Import(t.Context(), bytes.NewReader(gzipped(t, tarOf(t, file("a", b.String())))), Options{}); err != nil {
		t.Error(err)
	}
}

func TestImportTakesNoLongerThanAllowed(t *testing.T) {
	s := newStore(t)
	_, err := s.Import(t.Context(), &slowReader{b: tarOf(t, file("a", strings.Repeat("a", 1<<20)))},
		Options{Bounds: archive.Bounds{Time: 300 * time.Millisecond}})
	if !errors.Is(err, archive.ErrTooLarge) || !strings.Contains(err.Error(), "300ms") {
		t.Errorf("Import: %v; want it to say the time allowed", err)
	}
	mustBeEmpty(t, s)
}

// A slowReader is a reader that returns a few bytes at a time, slowly.
type slowReader struct{ b []byte }

func (d *slowReader) Read(p []byte) (int, error) {
	time.Sleep(10 * time.Millisecond)
	if len(d.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, d.b[:min(len(d.b), 600)])
	d.b = d.b[n:]
	return n, nil
}

func TestImportReportsItsReadersError(t *testing.T) {
	s := newStore(t)
	gone := errors.New("the caller is gone")
	_, err := s.Import(t.Context(), io.MultiReader(bytes.NewReader(tarOf(t, file("a", ""))[:512]), failing{gone}), Options{})
	if !errors.Is(err, gone) {
		t.Errorf("Import: %v; want %v", err, gone)
	}
	mustBeEmpty(t, s)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestSparseFiles(t *testing.T) {
	// IMG-15: GNU tar's map of holes. A small sparse file unpacks correctly, a huge one is a bomb.
	s := newStore(t)
	img, err := s.Import(t.Context(), bytes.NewReader(sparse(t, 3<<20)), Options{})
	if err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(filepath.Join(img.Path, "holes"))
	if err != nil || len(text) != 3<<20 || string(text[1<<20:1<<20+4]) != "data" || strings.Trim(string(text), "\x00") != "data" {
		t.Errorf("holes: %d bytes, %v; want 3 MiB with one word in it", len(text), err)
	}

	for _, size := range []int64{1 << 30, 1 << 40} {
		if _, err := s.Import(t.Context(), bytes.NewReader(sparse(t, size)), Options{}); !errors.Is(err, archive.ErrTooLarge) {
			t.Errorf("%d bytes of holes: %v; want ErrTooLarge", size, err)
		}
	}
}

func sparse(t *testing.T, size int64) []byte {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "holes"))
	if err != nil {
		t.Fatal(err)
	}

	_, err = f.WriteAt([]byte("data"), 1<<20)
	if err := errors.Join(err, f.Truncate(size), f.Close()); err != nil {
		t.Fatal(err)
	}

	out, err := exec.Command("tar", "-C", dir, "--sparse", "--format=pax", "-cf", "-", "holes").Output()
	if err != nil {
		t.Fatal(err)
	}
	if len(out) > 1<<20 {
		t.Fatalf("tar made %d bytes of it: the file system keeps no holes", len(out))
	}
	return out
}

// IMG-15: a map of very many holes costs neither much time nor memory (CVE-2025-58183). The control
// is a map of a thousand holes: it unpacks, which shows that the map is read.
func TestSparseFilesOfManyHoles(t *testing.T) {
	s := newStore(t)
	img, err := s.Import(t.Context(), bytes.NewReader(holes(t, 1000)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(img.Path, "holes")); err != nil || string(text) != strings.Repeat("\x00x", 1000) {
		t.Errorf("a thousand holes: %d bytes, %v", len(text), err)
	}

	many := gzipped(t, holes(t, 1<<20))
	had, began := peakMemory(t), time.Now()
	if _, err := s.Import(t.Context(), bytes.NewReader(many), Options{}); !errors.Is(err, archive.ErrMalformed) &&
		!errors.Is(err, archive.ErrTooLarge) {
		t.Errorf("a million holes: %v; want it refused", err)
	}
	if grown := peakMemory(t) - had; grown > 64<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// holes returns an archive with one file of n holes of one byte, with one byte between them, in GNU
// tar's format 1.0: the map is at the start of the content.
func holes(t *testing.T, n int) []byte {
	t.Helper()
	var body bytes.Buffer
	fmt.Fprintf(&body, "%d\n", n)
	for i := range n {
		fmt.Fprintf(&body, "%d\n1\n", 2*i+1)
	}
	body.Write(make([]byte, -body.Len()&511))
	body.WriteString(strings.Repeat("x", n))
	records := paxRecord("GNU.sparse.major", "1") + paxRecord("GNU.sparse.minor", "0") +
		paxRecord("GNU.sparse.name", "holes") + paxRecord("GNU.sparse.realsize", fmt.Sprint(2*n))
	return append(paxHeader(t, records), tarOf(t, file("GNUSparseFile.0/holes", body.String()))...)
}

// paxHeader returns an extended header for the next member. It is written by hand, because
// archive/tar's writer refuses to write such headers.
func paxHeader(t *testing.T, records string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	body := []byte(records)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "pax", Size: int64(len(body)), Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}

	b := buf.Bytes()
	b[156] = 'x'
	copy(b[148:156], "        ")
	sum := 0
	for _, c := range b[:512] {
		sum += int(c)
	}

	copy(b[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return b
}

func paxRecord(key, value string) string {
	for n := 1; ; n++ {
		if s := fmt.Sprintf("%d %s=%s\n", n, key, value); len(s) == n {
			return s
		}
	}
}

func TestPAXOddities(t *testing.T) {
	// IMG-16: headers with repeated records or nonsensical values.
	raw := func(records string) []byte { return append(paxHeader(t, records), tarOf(t, file("plain", "data"))...) }
	s := newStore(t)
	for _, tt := range []struct {
		name, records string
		want          error // nil: an UnsafeError
	}{
		{"a negative size", paxRecord("size", "-1"), archive.ErrMalformed},
		{"a size beyond the archive", paxRecord("size", "99999"), archive.ErrTruncated},
		{"a size beyond all", paxRecord("size", "9223372036854775807"), archive.ErrTooLarge},
		{"a path that climbs under a plain name", paxRecord("path", "../x"), nil},
		{"an owner below zero", paxRecord("uid", "-1"), nil},
		{"a NUL in the path", paxRecord("path", "a\x00b"), archive.ErrMalformed},
		{"a record without an end", "30 path=x", archive.ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.Import(t.Context(), bytes.NewReader(raw(tt.records)), Options{})
			var unsafe *archive.UnsafeError
			if tt.want == nil && !errors.As(err, &unsafe) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("Import: %v; want %v", err, tt.want)
			}
			mustBeEmpty(t, s)
		})
	}

	img, err := s.Import(t.Context(), bytes.NewReader(raw(paxRecord("path", "one")+paxRecord("path", "two"))), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(img.Path, "two")); err != nil {
		t.Errorf("the last of two paths counts: %v", err)
	}
}

func TestTheLastOfSeveralMembersWins(t *testing.T) {
	// IMG-17
	img, err := importTar(t, newStore(t), Options{},
		file("x", "file"), dir("x"), file("x/in", "1"), symlink("x", "/y"), file("x/through", "2"), file("x", "last"),
		file("Case", "1"), file("case", "2"),
		dir("keep"), file("keep/a", "1"), with(dir("keep"), func(h *tar.Header) { h.Mode = 0o500 }),
	)
	if err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]string{"x": "last", "y/through": "2", "Case": "1", "case": "2", "keep/a": "1"} {
		if text, err := os.ReadFile(filepath.Join(img.Path, name)); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v; want %q", name, text, err, want)
		}
	}

	if info, err := os.Stat(filepath.Join(img.Path, "keep")); err != nil || info.Mode().Perm() != 0o500 || !info.ModTime().Equal(epoch) {
		t.Errorf("keep: %v, %v; want 0500 of %v", info, err, epoch)
	}
}

type closer interface {
	io.Writer
	Close() error
}

func gzipWriter(w io.Writer) closer {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		panic(err)
	}
	return z
}

func zstdWriter(w io.Writer) closer {
	z, err := zstd.NewWriter(w)
	if err != nil {
		panic(err)
	}
	return z
}

// zeros returns a compressed archive of one file of n zeros.
func zeros(t *testing.T, n int64, compress func(io.Writer) closer) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := compress(&buf)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "zeros", Size: n, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	fill(t, w, n)
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// padded returns a compressed, empty archive followed by n zeros.
func padded(t *testing.T, n int64) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzipWriter(&buf)
	fill(t, z, n)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func fill(t *testing.T, w io.Writer, n int64) {
	t.Helper()
	block := make([]byte, 1<<20)
	for ; n > 0; n -= int64(len(block)) {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
}
