package rootfs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// maxWindow bounds what a decompressor remembers: zstd --ultra -22 asks for
// 128 MiB, xz -9 for 64.
const maxWindow = 128 << 20

// decompress recognises the compression of r by its first bytes. A plain tar is
// whatever is none of the others; the tar reader judges it.
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
		// The dictionary is allocated at once, whatever the archive holds, and a runtime that is
		// short of memory dies in several ways (IMG-30).
		head, err := br.Peek(12 + 1024) // the header of the stream and the longest of a block
		if err != nil && err != io.EOF {
			return nil, err
		}
		if size := xzDictionary(head); size > maxWindow {
			return nil, &refusal{kind: kindTooLarge, reason: fmt.Sprintf("to unpack it takes a dictionary of %d MiB, and %d is the most: compress it with a smaller one, as xz -9 does", size>>20, maxWindow>>20)}
		}
		return xz.NewReader(br)
	}
	return br, nil
}
