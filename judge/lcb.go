package judge

import (
	"bytes"
	"fmt"
)

// liveCodeBench compares as LiveCodeBench does: as many lines, each equal without the white space around
// it, or equal as a list of decimal numbers.
func liveCodeBench(expected, got []byte) (bool, string) {
	expected, got = trimSpace(expected), trimSpace(got)
	skipped := commonLines(expected, got)
	if skipped == len(expected) && skipped == len(got) {
		return true, ""
	}

	lines := bytes.Count(expected[:skipped], []byte("\n"))
	expected, got = expected[skipped:], got[skipped:]
	for n := lines + 1; ; n++ {
		a, restA, moreA := bytes.Cut(expected, []byte("\n"))
		b, restB, moreB := bytes.Cut(got, []byte("\n"))
		a, b = trimSpace(a), trimSpace(b)
		if !bytes.Equal(a, b) {
			if ok, _ := sameTokens(a, b, sameDecimal); !ok {
				return false, fmt.Sprintf("line %d: ", n) + diffMessage(a, b, firstDifference(a, b))
			}
		}

		switch {
		case !moreA && !moreB:
			return true, ""
		case !moreB:
			return false, fmt.Sprintf("line %d: ", n+1) + unmatchedMessage(restA, true)
		case !moreA:
			return false, fmt.Sprintf("line %d: ", n+1) + unmatchedMessage(restB, false)
		}

		expected, got = restA, restB
	}
}

func sameDecimal(a, b []byte) bool {
	x, ok := parseDecimal(a)
	if !ok {
		return false
	}
	y, ok := parseDecimal(b)
	return ok && x.equal(y)
}

func trimSpace(text []byte) []byte {
	text = trimSpaceLeft(text)
	for len(text) > 0 && isSpace(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}
