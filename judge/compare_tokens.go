package judge

import (
	"bytes"
	"fmt"
	"math"
)

// commonLines returns the length of the lines with which both texts begin.
func commonLines(a, b []byte) int {
	at := firstDifference(a, b)
	if at == len(a) && at == len(b) {
		return at
	}
	return bytes.LastIndexByte(a[:at], '\n') + 1
}

// sameTokens compares two texts word by word. A word must be the same as itself.
func sameTokens(expected, got []byte, same func(a, b []byte) bool) (bool, string) {
	skipped := commonLines(expected, got)
	ok, n, why := differentToken(expected[skipped:], got[skipped:], same)
	if ok {
		return true, ""
	}
	for range tokens(expected[:skipped]) {
		n++
	}
	return false, fmt.Sprintf("token %d: ", n) + why
}

// differentToken returns the number of the first token in which two texts differ, and the difference.
func differentToken(expected, got []byte, same func(a, b []byte) bool) (ok bool, n int, why string) {
	for n := 1; ; n++ {
		var a, b []byte
		a, expected = cutToken(expected)
		b, got = cutToken(got)
		switch {
		case len(a) == 0 && len(b) == 0:
			return true, n, ""
		case len(b) == 0:
			return false, n, unmatchedMessage(a, true)
		case len(a) == 0:
			return false, n, unmatchedMessage(b, false)
		case !same(a, b):
			return false, n, diffMessage(a, b, firstDifference(a, b))
		}
	}
}

// cutToken takes the first token off text; an empty token means that there is none.
func cutToken(text []byte) (token, rest []byte) {
	text = trimSpaceLeft(text)
	for i, c := range text {
		if c <= ' ' && isSpace(c) {
			return text[:i], text[i:]
		}
	}
	return text, nil
}

// sameNumber reports whether two tokens are the same text, or decimal numbers within the tolerance. Inf, nan,
// hexadecimal numbers and numbers with underscores are text.
func sameNumber(a, b []byte, tolerance float64) bool {
	if bytes.Equal(a, b) {
		return true
	}

	x, ok, exact := decimalNumber(a)
	if !ok {
		return false
	}
	y, ok, both := decimalNumber(b)
	if ok && exact && both {
		return math.Abs(x-y) <= tolerance*max(1, math.Abs(x), math.Abs(y))
	}
	return ok && margin{&tolerance, &tolerance, true}.permits(a, b)
}
