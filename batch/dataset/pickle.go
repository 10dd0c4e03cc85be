package dataset

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxUnpacked bounds what private tests of LiveCodeBench are compressed of, in bytes.
const maxUnpacked = 512 << 20

// unpack returns the text in private tests of LiveCodeBench, which are base64 of zlib of a pickle of text.
// The text has at most maximum bytes.
func unpack(packed string, maximum int64) (string, error) {
	z, err := zlib.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	if err != nil {
		return "", fmt.Errorf("expected base64 of zlib: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maximum+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("expected base64 of zlib: %w", err)
	case int64(len(text)) > maximum:
		return "", fmt.Errorf("it has more than %d MiB when it is uncompressed, the most", maximum>>20)
	}
	return pickledText(text)
}

var errPickle = errors.New("expected a pickle of text and of nothing else")

// The opcodes of a pickle of one text, of the protocols 1 to 5.
const (
	opProto        = 0x80 // and the version, one byte
	opFrame        = 0x95 // and the length of the frame, 8 bytes
	opShortUnicode = 0x8c // and the length, 1 byte, and the text
	opUnicode      = 'X'  // and the length, 4 bytes, and the text
	opUnicode8     = 0x8d // and the length, 8 bytes, and the text
	opMemoize      = 0x94
	opBinPut       = 'q' // and the index, 1 byte
	opStop         = '.'
)

// pickledText reads a pickle that is one text. A pickle is a program: Python's reader imports modules
// and calls functions as it says. This one knows the opcodes of a text alone, in the one order in which
// Python writes them, and refuses everything else.
func pickledText(p []byte) (string, error) {
	next := func(n uint64) []byte {
		if n > uint64(len(p)) {
			p = nil
			return nil
		}
		out := p[:n]
		p = p[n:]
		return out
	}

	takes := func(op byte, argument uint64) []byte {
		if len(p) == 0 || p[0] != op {
			return nil
		}
		return next(1 + argument)
	}
	if version := takes(opProto, 1); version != nil && (version[1] < 2 || version[1] > 5) {
		return "", errPickle
	}

	takes(opFrame, 8)
	var size uint64
	if n := takes(opShortUnicode, 1); n != nil {
		size = uint64(n[1])
	} else if n := takes(opUnicode, 4); n != nil {
		size = uint64(binary.LittleEndian.Uint32(n[1:]))
	} else if n := takes(opUnicode8, 8); n != nil {
		size = binary.LittleEndian.Uint64(n[1:])
	} else {
		return "", errPickle
	}

	text := next(size)
	if takes(opMemoize, 0) == nil {
		takes(opBinPut, 1)
	}
	if text == nil && size > 0 || !bytes.Equal(p, []byte{opStop}) || !utf8.Valid(text) {
		return "", errPickle
	}
	return string(text), nil
}
