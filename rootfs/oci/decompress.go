package oci

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is the largest window of zstd, as that of plain archives.
const maxWindow = 128 << 20

// decompressed returns the uncompressed layer. Its first bytes decide how it is compressed, not the
// media type: archives of docker save say nothing about it, and some tools say something wrong.
// Several gzip members, zstd frames and skippable frames follow each other (IMG-36).
func decompressed(r io.ReadCloser) (*stack, error) {
	br := bufio.NewReaderSize(r, 1<<18)
	magic, err := br.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}

	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("decompress layer: %w", err)
		}
		return &stack{z, r}, nil

	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}), len(magic) >= 4 && magic[0]&0xf0 == 0x50 &&
		bytes.Equal(magic[1:4], []byte{0x2a, 0x4d, 0x18}):
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
			zstd.WithDecoderMaxMemory(2*maxWindow))
		if err != nil {
			return nil, fmt.Errorf("decompress layer: %w", err)
		}
		return &stack{z, r}, nil

	case bytes.HasPrefix(magic, []byte{0xfd, '7', 'z', 'X', 'Z'}), bytes.HasPrefix(magic, []byte("BZh")):
		return nil, fmt.Errorf("the layer is compressed by xz or bzip2, which no image may be: use gzip or zstd")
	}

	return &stack{br, r}, nil
}

// A stack reads from one reader and closes another.
type stack struct {
	io.Reader
	under io.Closer
}

func (s *stack) Close() error {
	if z, ok := s.Reader.(*zstd.Decoder); ok {
		z.Close()
	}
	return s.under.Close()
}

// isPlain reports whether nothing was decompressed.
func isPlain(s *stack) bool {
	_, ok := s.Reader.(*bufio.Reader)
	return ok
}
