package archive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// maxWindow limits the window or dictionary of a decompressor: zstd --ultra -22 needs 128 MiB,
// xz -9 needs 64.
const maxWindow = 128 << 20

// decompress detects the compression of r by its first bytes. Anything else counts as a plain tar,
// and the tar reader decides whether it is one.
func decompress(r io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	magic, err := br.Peek(6)
	if err != nil && err != io.EOF {
		return nil, err
	}

	switch {
	case len(magic) == 0:
		return nil, &refusal{kind: kindTruncated, reason: "it is empty"}
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(br)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(2*maxWindow))
	case bytes.HasPrefix(magic, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		// The decompressor allocates the whole dictionary at once, even for a small archive, and
		// the Go runtime dies in several ways when memory is short (IMG-30).
		head, err := br.Peek(12 + 1024) // the stream header and the longest block header
		if err != nil && err != io.EOF {
			return nil, err
		}
		if size := xzDictionary(head); size > maxWindow {
			return nil, &refusal{kind: kindTooLarge,
				reason: fmt.Sprintf("unpacking it needs a dictionary of %d MiB; the limit is %d MiB: compress it "+
					"with a smaller one, for example with xz -9", size>>20, maxWindow>>20)}
		}
		return xz.NewReader(br)
	}

	return br, nil
}
