package api

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// sameTokens walks two texts word by word.
func sameTokens(expected, got []byte, same func(a, b []byte) bool) (bool, string) {
	for n := 1; ; n++ {
		var a, b []byte
		a, expected = cutToken(expected)
		b, got = cutToken(got)
		switch {
		case len(a) == 0 && len(b) == 0:
			return true, ""
		case len(b) == 0:
			return false, fmt.Sprintf("token %d: ", n) + missing(a, true)
		case len(a) == 0:
			return false, fmt.Sprintf("token %d: ", n) + missing(b, false)
		case !same(a, b):
			return false, fmt.Sprintf("token %d: ", n) + unlike(a, b, parting(a, b))
		}
	}
}

// cutToken takes the first token off text; an empty one says that there is none.
func cutToken(text []byte) (token, rest []byte) {
	text = trimSpaceLeft(text)
	for i, c := range text {
		if isSpace(c) {
			return text[:i], text[i:]
		}
	}
	return text, nil
}

// sameNumber says whether two tokens are the same text, or numbers within the
// tolerance. NaN is like itself alone, an infinity like the same infinity. What no
// float64 can hold is text.
func sameNumber(a, b []byte, tolerance float64) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, err := strconv.ParseFloat(string(a), 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return false
	}
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return math.IsNaN(x) && math.IsNaN(y)
	case math.IsInf(x, 0) || math.IsInf(y, 0):
		return x == y
	}
	return math.Abs(x-y) <= tolerance*max(1, math.Abs(x), math.Abs(y))
}
