package judge

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"iter"
	"math/bits"
)

// This file compares texts whose parts may have any order. The parts are hashed, and the sums of their
// hashes compared: that needs no memory, however many parts there are. The seed is a secret of this
// process, so that no program can make two texts with the same sum.

var (
	seed   = maphash.MakeSeed()
	secret = maphash.Bytes(seed, nil)

	secretOfLength = func() (s [17]uint64) {
		for n := range s {
			s[n] = maphash.Bytes(seed, []byte{byte(n)})
		}
		return s
	}()
)

// A sum is the order-independent hash of many parts.
type sum struct {
	parts  int
	hi, lo uint64
}

func (s *sum) add(hash uint64) {
	s.parts++
	s.hi += hash
	s.lo += mix(hash, 0x9e3779b97f4a7c15)
}

// mix combines two hashes, in this order.
func mix(a, b uint64) uint64 {
	x := (a ^ b) * 0xff51afd7ed558ccd
	x ^= x >> 33
	x = (x + b) * 0xc4ceb9fe1a85ec53
	return x ^ x>>29
}

// lines yields the lines of a text that are not empty, as DMOJ splits them: \r and \n both end one.
func lines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			n, _ := hashLine(text)
			if n > 0 && !yield(text[:n]) {
				return
			}
			text = text[min(n+1, len(text)):]
		}
	}
}

// tokens yields the words of a text.
func tokens(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for token, rest := cutToken(text); len(token) > 0; token, rest = cutToken(rest) {
			if !yield(token) {
				return
			}
		}
	}
}

// hashToken hashes a word.
func hashToken(token []byte) uint64 {
	n, le := len(token), binary.LittleEndian
	switch {
	case n > 16:
		return maphash.Bytes(seed, token)
	case n >= 8: // two pieces, which may overlap
		hi, lo := bits.Mul64(le.Uint64(token)^secret, le.Uint64(token[n-8:])^secretOfLength[n])
		return hi ^ lo
	}

	w := uint64(0)
	for i, c := range token {
		w |= uint64(c) << (8 * i)
	}
	return mul(w, n)
}

// mul hashes a word of fewer than eight bytes, which w has with the first one lowest.
func mul(w uint64, n int) uint64 {
	hi, lo := bits.Mul64(w^secret, secretOfLength[n])
	return hi ^ lo
}

// hashLine returns the length of the line with which text begins, and the hash of its tokens.
func hashLine(text []byte) (n int, h uint64) {
	for n < len(text) {
		switch c := text[n]; {
		case c == '\n' || c == '\r':
			return n, h
		case c <= ' ' && isSpace(c):
			n++
		default:
			size, hash := tokenAt(text[n:])
			n, h = n+size, mix(h, hash)
		}
	}
	return n, h
}

// sumOfLines adds the hashes of all lines.
func sumOfLines(text []byte) (s sum) {
	for len(text) > 0 {
		n, h := hashLine(text)
		if n > 0 {
			s.add(h)
		}
		text = text[min(n+1, len(text)):]
	}
	return s
}

// sumOfTokens adds the hashes of all words.
func sumOfTokens(text []byte) (s sum) {
	for i := 0; i < len(text); {
		if c := text[i]; c <= ' ' && isSpace(c) {
			i++
			continue
		}
		n, hash := tokenAt(text[i:])
		s.add(hash)
		i += n
	}
	return s
}

// A kind of parts that may have any order.
type unorderedParts struct {
	name string
	each func([]byte) iter.Seq[[]byte]
	sum  func([]byte) sum // of a text, or of one part
}

var (
	unorderedLines  = unorderedParts{"line", lines, sumOfLines}
	unorderedTokens = unorderedParts{"token", tokens, sumOfTokens}
)

// compare compares the parts of two texts in any order.
func (p unorderedParts) compare(expected, got []byte) (bool, string) {
	same := commonLines(expected, got)
	a, b := p.sum(expected[same:]), p.sum(got[same:])
	if a == b {
		return true, ""
	}

	both := p.sum(expected[:same]).parts
	a.parts, b.parts = a.parts+both, b.parts+both
	difference := fmt.Sprintf("in any order: expected %d %ss, got %d", a.parts, p.name, b.parts)
	if max(a.parts, b.parts) > maxIndexed {
		return false, difference
	}

	left := map[sum]int{}
	for part := range p.each(expected) {
		left[p.sum(part)]++
	}

	for part := range p.each(got) {
		one := p.sum(part)
		if left[one]--; left[one] < 0 {
			return false, fmt.Sprintf("%s; %s %s is one too many", difference, p.name, excerpt(part, 0))
		}
	}

	for part := range p.each(expected) {
		if left[p.sum(part)] > 0 {
			return false, fmt.Sprintf("%s; %s %s is missing", difference, p.name, excerpt(part, 0))
		}
	}

	return false, difference
}

// maxIndexed is the most parts of which an index is made, to name one of them.
const maxIndexed = 1 << 16
