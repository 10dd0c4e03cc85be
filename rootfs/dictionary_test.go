package rootfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/brig-sandbox/brig/rootfs/archive"
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
		if !errors.Is(err, archive.ErrTooLarge) || !strings.Contains(err.Error(), "a dictionary of "+dictionary+" MiB; the limit is 128 MiB") {
			t.Errorf("%s MiB: %v; want ErrTooLarge, and the dictionary named", dictionary, err)
		}
	}

	// In a later block, a large dictionary is only detected when there is no memory for it.
	second := append(bytes.Clone(small.Bytes()), withDictionary(t, small.Bytes(), 37)...)
	if _, err := s.Import(t.Context(), bytes.NewReader(second), Options{Name: "huge"}); !errors.Is(err, archive.ErrTooLarge) {
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

// withDictionary returns the .xz with the dictionary size in the header of its first block replaced
// by the size that code stands for (xz file format 1.2.0, 3.1 and 5.3.1).
func withDictionary(t *testing.T, tarball []byte, code byte) []byte {
	t.Helper()
	huge := bytes.Clone(tarball)
	header := huge[12:][:(int(huge[12])+1)*4]
	at := bytes.Index(header, []byte{0x21, 0x01})
	if at < 0 {
		t.Fatalf("block header % x has no LZMA2 filter", header)
	}
	header[at+2] = code
	binary.LittleEndian.PutUint32(header[len(header)-4:], crc32.ChecksumIEEE(header[:len(header)-4]))
	return huge
}
