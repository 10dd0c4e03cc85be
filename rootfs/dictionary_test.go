package rootfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

// IMG-30: an .xz whose header requests a dictionary above 128 MiB is refused as too large, and not
// reported as a failure of brig. The control, the same archive with its own small dictionary, is
// stored.
func TestImportOfAHugeDictionary(t *testing.T) {
	s := newStore(t)
	var small bytes.Buffer
	w, err := xz.NewWriter(&small)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(tarOf(t, dir("bin/"), file("bin/hello", "hi\n"))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for code, dictionary := range map[byte]string{31: "192", 36: "1024", 37: "1536", 40: "4095"} {
		huge := withDictionary(t, small.Bytes(), code)
		_, err := s.Import(t.Context(), bytes.NewReader(huge), Options{Name: "huge"})
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "a dictionary of "+dictionary+" MiB; the limit is 128 MiB") {
			t.Errorf("%s MiB: %v; want ErrTooLarge, and the dictionary named", dictionary, err)
		}
	}
	// In a later block, a large dictionary is only detected when there is no memory for it.
	second := append(bytes.Clone(small.Bytes()), withDictionary(t, small.Bytes(), 37)...)
	if _, err := s.Import(t.Context(), bytes.NewReader(second), Options{Name: "huge"}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("in the second stream: %v; want ErrTooLarge", err)
	}
	mustBeEmpty(t, s)
	if _, err := s.Import(t.Context(), bytes.NewReader(withDictionary(t, small.Bytes(), 30)), Options{Name: "most"}); err != nil {
		t.Errorf("128 MiB: %v", err)
	}
	if _, err := s.Import(t.Context(), bytes.NewReader(small.Bytes()), Options{Name: "small"}); err != nil {
		t.Errorf("with a small dictionary: %v", err)
	}
}

// IMG-30: the header of a block is parsed correctly, also with sizes before its filter. Invalid
// headers give a size of 0.
func TestXzDictionary(t *testing.T) {
	block := func(inside ...byte) []byte { // stream header, then block header with size and checksum
		for (len(inside)+5)%4 != 0 {
			inside = append(inside, 0)
		}
		head := append(make([]byte, 12), byte((len(inside)+5)/4-1))
		return append(append(head, inside...), 0, 0, 0, 0)
	}
	for _, tt := range []struct {
		head []byte
		want int64
	}{
		{block(0, 0x21, 1, 0), 4 << 10},
		{block(0, 0x21, 1, 28), 64 << 20},
		{block(0, 0x21, 1, 37), 1536 << 20},
		{block(0xc0, 0x80, 0x08, 0xff, 0x01, 0x21, 1, 37), 1536 << 20}, // with both sizes
		{block(1, 0x03, 1, 0xff, 0x21, 1, 37), 1536 << 20},             // behind a delta filter
		{block(0, 0x21, 1, 40), 1<<32 - 1},
		{block(0, 0x21, 1, 41), 0},
		{block(0, 0x21, 5, 37), 0},
		{block(3, 0x04, 0x80), 0},
		{block(0xc0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), 0},
		{block(0, 0x21, 1, 37)[:16], 0},
		{make([]byte, 20), 0},
		{nil, 0},
	} {
		if got := xzDictionary(tt.head); got != tt.want {
			t.Errorf("% x: %d; want %d", tt.head, got, tt.want)
		}
	}
}

// IMG-30: if a child dies for lack of memory, the archive is over its bounds, whatever message its
// runtime prints. Any other death of a child is a failure of brig.
func TestDeathForLackOfMemoryIsAnArchiveError(t *testing.T) {
	for text, want := range map[string]string{
		"fatal error: runtime: out of memory\n\ngoroutine 1":                                                                                                                       kindTooLarge,
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n":                                                                                   kindTooLarge,
		"runtime: failed to create new OS thread (have 5 already; errno=11)\n":                                                                                                     kindTooLarge,
		"SIGSEGV: segmentation violation\nPC=0x43581d m=0 sigcode=1 addr=0x0\n\ngoroutine 0 gp=0xabef80 m=0 mp=0xabff80 [idle]:\nruntime.(*spanQueue).tryDrain(0x7ffd00000400?)\n": kindTooLarge,
		"SIGSEGV: segmentation violation\nPC=0x43581d m=0 sigcode=1 addr=0x0\n\ngoroutine 1 gp=0xabef80 m=0 mp=0xabff80:\nmain.main()\n":                                           kindInternal,
		"panic: runtime error: index out of range\n":                                                                                                                               kindInternal,
	} {
		if got := readReport(text).kind; got != want {
			t.Errorf("%q: %s; want %s", text, got, want)
		}
	}
}

// withDictionary returns the .xz with the dictionary size in the header of its first block replaced
// by the size that code stands for (xz file format 1.2.0, 3.1 and 5.3.1).
func withDictionary(t *testing.T, archive []byte, code byte) []byte {
	t.Helper()
	huge := bytes.Clone(archive)
	header := huge[12:][:(int(huge[12])+1)*4]
	at := bytes.Index(header, []byte{0x21, 0x01})
	if at < 0 {
		t.Fatalf("block header % x has no LZMA2 filter", header)
	}
	header[at+2] = code
	binary.LittleEndian.PutUint32(header[len(header)-4:], crc32.ChecksumIEEE(header[:len(header)-4]))
	return huge
}
