package judge

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// Accepts reports whether got matches expected. If it does not, difference describes the first
// difference in one line. It reads both once and copies neither.
//
// An error means that the expected output is not what the comparison needs, such as JSON.
func Accepts(c api.Compare, expected, got []byte) (ok bool, difference string, err error) {
	if bytes.Equal(expected, got) && c.How != api.CompareJSON {
		return true, "", nil
	}
	if c.How == api.CompareJSON {
		return jsonValues(c, expected, got)
	}
	ok, difference = sameText(c, expected, got)
	return ok, difference, nil
}

func sameText(c api.Compare, expected, got []byte) (ok bool, difference string) {
	switch c.How {
	case api.CompareExact:
		at := firstDifference(expected, got)
		line := 1 + bytes.Count(expected[:at], []byte("\n"))
		return false, fmt.Sprintf("byte %d, in line %d: ", at+1, line) + diffMessage(expected, got, at)
	case api.CompareTokens:
		return sameTokens(expected, got, bytes.Equal)
	case api.CompareFloat:
		tolerance := c.Tolerance
		if tolerance == 0 {
			tolerance = api.DefaultTolerance
		}
		return sameTokens(expected, got, func(a, b []byte) bool { return sameNumber(a, b, tolerance) })

	case api.CompareKattis:
		return kattis(c, expected, got)
	case api.CompareWhiteDiff:
		return whiteDiff(expected, got)
	case api.CompareDMOJ:
		return dmoj(expected, got)
	case api.CompareLCB:
		return liveCodeBench(expected, got)
	case api.CompareUnorderedLines:
		return unorderedLines.compare(expected, got)
	case api.CompareUnorderedTokens:
		return unorderedTokens.compare(expected, got)
	}

	return sameLines(expected, got)
}

func sameLines(expected, got []byte) (bool, string) {
	for n := 1; ; n++ {
		var a, b []byte
		a, expected = cutLine(expected)
		b, got = cutLine(got)
		if !bytes.Equal(a, b) {
			return false, fmt.Sprintf("line %d: ", n) + diffMessage(a, b, firstDifference(a, b))
		}
		if len(expected) > 0 && len(got) > 0 {
			continue
		}

		// One of the two has ended: the rest of the other may consist of empty lines only.
		rest, long := expected, true
		if len(expected) == 0 {
			rest, long = got, false
		}

		text := trimSpaceLeft(rest)
		if len(text) == 0 {
			return true, ""
		}

		n += 1 + bytes.Count(rest[:len(rest)-len(text)], []byte("\n"))
		line, _ := cutLine(text)
		return false, fmt.Sprintf("line %d: ", n) + unmatchedMessage(line, long)
	}
}

// cutLine takes the first line off text, without the white space at its end.
func cutLine(text []byte) (line, rest []byte) {
	line = text
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		line, rest = text[:i], text[i+1:]
	}
	for len(line) > 0 && isSpace(line[len(line)-1]) {
		line = line[:len(line)-1]
	}
	return line, rest
}

func isSpace(c byte) bool { return c == ' ' || c-'\t' <= '\r'-'\t' }

func trimSpaceLeft(text []byte) []byte {
	for len(text) > 0 && isSpace(text[0]) {
		text = text[1:]
	}
	return text
}

// firstDifference returns the index of the first byte in which a and b differ, or the length of the
// shorter one.
func firstDifference(a, b []byte) int {
	const block = 4096
	n, i := min(len(a), len(b)), 0
	for i+block <= n && bytes.Equal(a[i:i+block], b[i:i+block]) {
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// diffMessage describes two texts that differ at an index.
func diffMessage(expected, got []byte, at int) string {
	return fmt.Sprintf("expected %s, got %s", excerpt(expected, at), excerpt(got, at))
}

// unmatchedMessage describes the text that one side has after the other has ended.
func unmatchedMessage(text []byte, expected bool) string {
	if expected {
		return fmt.Sprintf("expected %s, got nothing more", excerpt(text, 0))
	}
	return fmt.Sprintf("expected nothing more, got %s", excerpt(text, 0))
}

// The size of an excerpt, and how much of it comes before the index.
const (
	excerptBytes = 48
	excerptAhead = 16
)

// excerpt quotes the text around an index, so that control characters are visible.
func excerpt(text []byte, at int) string {
	from, to := max(0, at-excerptAhead), len(text)
	if len(text) <= excerptBytes {
		from = 0
	}

	to = min(to, from+excerptBytes)
	for range utf8.UTFMax - 1 { // no character is cut in two
		if from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
			from--
		}
		if to < len(text) && !utf8.RuneStart(text[to]) {
			to--
		}
	}

	s := strconv.Quote(string(text[from:to]))
	if from > 0 {
		s = "…" + s
	}
	if to < len(text) {
		s += "…"
	}
	return s
}
