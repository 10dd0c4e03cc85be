package judge

import (
	"encoding/binary"
	"math/bits"
)

// This file finds the ends of words eight bytes at a time.

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// below returns a word whose lowest bit that is set is in the first byte of w, in the order of the text,
// that is smaller than n, which is at most 128; 0: none is. Bits above it say nothing.
func below(w uint64, n byte) uint64 { return (w - ones*uint64(n)) &^ w & highs }

// tokenAt returns the length of the token with which text begins, and its hash. Without a token both
// are 0.
func tokenAt(text []byte) (n int, hash uint64) {
	if len(text) >= 8 {
		w := binary.LittleEndian.Uint64(text)
		if m := below(w, ' '+1); m != 0 {
			if n = bits.TrailingZeros64(m) >> 3; isSpace(text[n]) {
				if n == 0 {
					return 0, 0
				}
				return n, mul(w&(1<<(8*n)-1), n)
			}
		}
	}

	n = tokenLength(text)
	return n, hashToken(text[:n])
}

// tokenLength returns the length of the token with which text begins.
func tokenLength(text []byte) (n int) {
	for len(text)-n >= 8 {
		m := below(binary.LittleEndian.Uint64(text[n:]), ' '+1)
		if m == 0 {
			n += 8
			continue
		}
		if n += bits.TrailingZeros64(m) >> 3; isSpace(text[n]) {
			return n
		}
		n++ // another control character
	}

	for n < len(text) && !isSpace(text[n]) {
		n++
	}
	return n
}
