package judge

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/brig-sandbox/brig/api"
)

// kattis compares as the default output validator of the Kattis problem package format does (2025-09,
// "Default output validator specification").
func kattis(c api.Compare, expected, got []byte) (bool, string) {
	same := func(a, b []byte) bool {
		if bytes.Equal(a, b) {
			return true
		}
		if c.Absolute != nil || c.Relative != nil {
			x, isNumber, exact := decimalNumber(a)
			y, also, both := decimalNumber(b)
			switch {
			case isNumber && also && exact && both:
				return withinKattis(c, x, y)
			case isNumber:
				return also && margin{absolute: c.Absolute, relative: c.Relative}.permits(a, b)
			}
		}
		return c.CaseSensitive && bytes.Equal(a, b) || !c.CaseSensitive && equalFoldASCII(a, b)
	}

	if c.SpaceSensitive {
		return sameTokensAndSpace(expected, got, same)
	}
	return sameTokens(expected, got, same)
}

// withinKattis reports whether a number is within a tolerance of the expected number. The relative
// tolerance is relative to the expected number alone.
func withinKattis(c api.Compare, expected, got float64) bool {
	d := math.Abs(expected - got)
	return c.Absolute != nil && d <= *c.Absolute || c.Relative != nil && d <= *c.Relative*math.Abs(expected)
}

// sameTokensAndSpace compares two texts token by token, and the white space between them byte by byte.
func sameTokensAndSpace(expected, got []byte, same func(a, b []byte) bool) (bool, string) {
	for n := 1; ; n++ {
		a, b := len(expected)-len(trimSpaceLeft(expected)), len(got)-len(trimSpaceLeft(got))
		if !bytes.Equal(expected[:a], got[:b]) {
			return false, fmt.Sprintf("white space before token %d: expected %s, got %s", n,
				excerpt(expected[:a], 0), excerpt(got[:b], 0))
		}

		var x, y []byte
		x, expected = cutToken(expected[a:])
		y, got = cutToken(got[b:])
		switch {
		case len(x) == 0 && len(y) == 0:
			return true, ""
		case len(y) == 0:
			return false, fmt.Sprintf("token %d: ", n) + unmatchedMessage(x, true)
		case len(x) == 0:
			return false, fmt.Sprintf("token %d: ", n) + unmatchedMessage(y, false)
		case !same(x, y):
			return false, fmt.Sprintf("token %d: ", n) + diffMessage(x, y, firstDifference(x, y))
		}
	}
}

// equalFoldASCII reports whether two texts are the same if A to Z are taken for a to z.
func equalFoldASCII(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i, x := range a {
		if y := b[i]; x != y && (lower(x) != lower(y)) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c-'A' < 26 {
		return c + ('a' - 'A')
	}
	return c
}

// decimalNumber returns the number that a token is, if it is a decimal number as the package format's
// grammar has it: neither hexadecimal, nor inf or nan. exact is false if it is too large or too small for float64:
// margin.permits compares it.
func decimalNumber(token []byte) (f float64, ok, exact bool) {
	if len(token) == 0 || token[0] > '9' { // most words are not numbers
		return 0, false, false
	}
	if n, ok := smallInteger(token); ok {
		return n, true, true
	}

	for _, c := range token {
		if c-'0' > 9 && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false, false
		}
	}

	f, err := strconv.ParseFloat(string(token), 64)
	if errors.Is(err, strconv.ErrRange) { // f is infinite
		return f, true, false
	}
	return f, err == nil, err == nil && !underflows(token, f)
}

// decimalFloat returns such a number, if it is not too large for float64.
func decimalFloat(token []byte) (float64, bool) {
	f, ok, _ := decimalNumber(token)
	return f, ok && !math.IsInf(f, 0)
}

// smallInteger returns the value of a token of at most 15 digits, which float64 holds exactly.
func smallInteger(token []byte) (float64, bool) {
	if len(token) > 15 {
		return 0, false
	}
	n := int64(0)
	for _, c := range token {
		if c-'0' > 9 {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return float64(n), true
}
