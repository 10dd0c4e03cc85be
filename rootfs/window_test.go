package rootfs

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// IMG-31: a zstd frame whose header requests a window of 1 GiB is refused for that reason, and not
// as a file that is no archive. A frame with the largest allowed window is stored.
func TestImportOfAWideWindow(t *testing.T) {
	tarball := tarOf(t, file("a", strings.Repeat("a", 5000)))
	s := newStore(t)
	_, err := s.Import(t.Context(), bytes.NewReader(zstdOf(t, tarball, 30)), Options{})
	if !errors.Is(err, archive.ErrTooLarge) || !strings.Contains(err.Error(), "a window above 128 MiB") {
		t.Errorf("1 GiB: %v; want ErrTooLarge, and the window named", err)
	}
	mustBeEmpty(t, s)
	if _, err := s.Import(t.Context(), bytes.NewReader(zstdOf(t, tarball, 27)), Options{}); err != nil {
		t.Errorf("128 MiB: %v", err)
	}
}

// zstdOf compresses text into a frame whose header requests a window of 1<<log bytes.
func zstdOf(t *testing.T, text []byte, log byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}

	for len(text) > 0 { // in pieces: a frame of known size has no window
		n := min(1000, len(text))
		if _, err := w.Write(text[:n]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	all := out.Bytes()
	if all[4]&0x20 != 0 || all[5] != 10<<3 {
		t.Fatalf("the frame header is %x; want a window of 1 MiB behind it", all[:8])
	}

	all[5] = (log - 10) << 3
	return all
}
