package rootfs

import (
	"bufio"
	"bytes"
	"compress/gzip"
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
		return xz.NewReader(br)
	}
	return br, nil
}
