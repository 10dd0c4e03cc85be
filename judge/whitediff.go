package judge

import (
	"bytes"
	"fmt"
)

// whiteDiff compares the tokens of each line as CMS does. A line that one side does not have is an
// empty one.
func whiteDiff(expected, got []byte) (bool, string) {
	skipped := commonLines(expected, got)
	above := bytes.Count(expected[:skipped], []byte("\n"))
	expected, got = expected[skipped:], got[skipped:]
	for n := above + 1; len(expected) > 0 || len(got) > 0; n++ {
		var a, b []byte
		a, expected = cutLine(expected)
		b, got = cutLine(got)
		if bytes.Equal(a, b) {
			continue
		}
		if ok, difference := sameTokens(a, b, bytes.Equal); !ok {
			return false, fmt.Sprintf("line %d, ", n) + difference
		}
	}

	return true, ""
}

// dmoj compares as DMOJ's standard checker does: the tokens are equal, and where expected has a line's
// end between two of them, got has one, too.
func dmoj(expected, got []byte) (bool, string) {
	skipped := commonLines(expected, got)
	line := 1
	if !bytes.Equal(expected, got) {
		for l := range lines(expected[:skipped]) {
			if len(trimSpaceLeft(l)) > 0 {
				line++
			}
		}
	}

	expected, got = trimSpaceLeft(expected[skipped:]), trimSpaceLeft(got[skipped:])
	for {
		var a, b []byte
		a, expected = cutToken(expected)
		b, got = cutToken(got)
		switch {
		case len(a) == 0 && len(b) == 0:
			return true, ""
		case len(b) == 0:
			return false, fmt.Sprintf("line %d: ", line) + unmatchedMessage(a, true)
		case len(a) == 0:
			return false, fmt.Sprintf("line %d: ", line) + unmatchedMessage(b, false)
		case !bytes.Equal(a, b):
			return false, fmt.Sprintf("line %d: ", line) + diffMessage(a, b, firstDifference(a, b))
		}

		x, ends := skipSpace(expected)
		y, alsoEnds := skipSpace(got)
		expected, got = expected[x:], got[y:]
		if len(expected) > 0 && len(got) > 0 && ends != alsoEnds {
			if ends {
				return false, fmt.Sprintf("line %d: expected a line's end after %s, got a space", line, excerpt(a, 0))
			}
			return false, fmt.Sprintf("line %d: expected a space after %s, got a line's end", line, excerpt(a, 0))
		}
		if ends {
			line++
		}
	}
}

// skipSpace returns the number of bytes of white space with which text begins, and whether a line ends
// there.
func skipSpace(text []byte) (n int, ends bool) {
	for n < len(text) && isSpace(text[n]) {
		ends = ends || text[n] == '\n' || text[n] == '\r'
		n++
	}
	return n, ends
}
