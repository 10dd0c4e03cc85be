package runs

import (
	"strings"
	"unicode/utf8"
)

// text returns b with U+FFFD in place of invalid UTF-8: one for each maximal subpart of a
// character, like the decoders of browsers and of Python (Unicode 17, 3.9, table 3-8;
// strings.ToValidUTF8 has one for each run of invalid bytes).
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}

	var out strings.Builder
	out.Grow(len(b) + len(b)/8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = subpart(b)
		}
		out.WriteRune(r)
		b = b[n:]
	}

	return out.String()
}

// subpart returns how many of the bytes at the start of b, which begin no valid character, could be
// the beginning of one; at least one.
func subpart(b []byte) int {
	n := 1
	for n < min(len(b), utf8.UTFMax-1) && !utf8.FullRune(b[:n+1]) {
		n++
	}
	return n
}
