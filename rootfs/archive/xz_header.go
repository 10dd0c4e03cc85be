package archive

import "encoding/binary"

// xzDictionary returns the size in bytes of the dictionary that the first block of an .xz needs (xz
// file format 1.2.0, 2.1.1 and 3.1). It returns 0 if head, the beginning of the file, does not
// contain the size: then the decompressor decides whether the file is valid.
func xzDictionary(head []byte) int64 {
	const streamHeader = 12
	if len(head) <= streamHeader || head[streamHeader] == 0 { // 0 starts the index: no block
		return 0
	}

	size := (int(head[streamHeader]) + 1) * 4
	if len(head) < streamHeader+size {
		return 0
	}

	block := head[streamHeader+1 : streamHeader+size-4] // without its size and its checksum
	if len(block) == 0 {
		return 0
	}

	flags, rest := block[0], block[1:]
	next := func() uint64 { // xz encodes numbers like protocol buffers
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			rest = nil
			return 0
		}
		rest = rest[n:]
		return v
	}

	for _, sizes := range []byte{0x40, 0x80} { // compressed, uncompressed
		if flags&sizes != 0 {
			next()
		}
	}

	for range flags&3 + 1 {
		filter, properties := next(), next()
		if properties > uint64(len(rest)) {
			return 0
		}
		const lzma2 = 0x21
		if filter == lzma2 && properties == 1 && rest[0] <= 40 {
			if rest[0] == 40 {
				return 1<<32 - 1
			}
			return (2 | int64(rest[0]&1)) << (rest[0]/2 + 11)
		}
		rest = rest[properties:]
	}

	return 0
}
