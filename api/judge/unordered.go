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
		from := 0
		for i, c := range text {
			if c != '\n' && c != '\r' {
				continue
			}
			if i > from && !yield(text[from:i]) {
				return
			}
			from = i + 1
		}
		if from < len(text) {
			yield(text[from:])
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

// hashToken hashes a word. Short words, of which a text has most, are read in two overlapping pieces.
func hashToken(token []byte) uint64 {
	n, le := len(token), binary.LittleEndian
	var a, b uint64
	switch {
	case n > 16:
		return maphash.Bytes(seed, token)
	case n >= 8:
		a, b = le.Uint64(token), le.Uint64(token[n-8:])
	case n >= 4:
		a, b = uint64(le.Uint32(token)), uint64(le.Uint32(token[n-4:]))
	case n > 0:
		a = uint64(token[0])<<16 | uint64(token[n/2])<<8 | uint64(token[n-1])
	}
	hi, lo := bits.Mul64(a^secret, b^secretOfLength[n])
	return hi ^ lo
}

// hashLine is the hash of the tokens of a line.
func hashLine(line []byte) (h uint64) {
	for token, rest := cutToken(line); len(token) > 0; token, rest = cutToken(rest) {
		h = mix(h, hashToken(token))
	}
	return h
}

// unordered compares the parts of two texts in any order.
func unordered(what string, parts func([]byte) iter.Seq[[]byte], hash func([]byte) uint64, expected, got []byte) (bool, string) {
	total := func(text []byte) (s sum) {
		for p := range parts(text) {
			s.add(hash(p))
		}
		return s
	}
	same := commonLines(expected, got)
	a, b := total(expected[same:]), total(got[same:])
	if a == b {
		return true, ""
	}
	for range parts(expected[:same]) { // these are in both
		a.parts++
		b.parts++
	}
	difference := fmt.Sprintf("in any order: expected %d %ss, got %d", a.parts, what, b.parts)
	if max(a.parts, b.parts) > maxIndexed {
		return false, difference
	}
	left := map[uint64]int{}
	for p := range parts(expected) {
		left[hash(p)]++
	}
	for p := range parts(got) {
		h := hash(p)
		if left[h]--; left[h] < 0 {
			return false, fmt.Sprintf("%s; %s %s is one too many", difference, what, excerpt(p, 0))
		}
	}
	for p := range parts(expected) {
		if left[hash(p)] > 0 {
			return false, fmt.Sprintf("%s; %s %s is missing", difference, what, excerpt(p, 0))
		}
	}
	return false, difference
}

// maxIndexed is the most parts of which an index is made, to name one of them.
const maxIndexed = 1 << 16
