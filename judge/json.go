package judge

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/brig-sandbox/brig/api"
)

// jsonValues compares two texts of JSON values, one or more. It reads both side by side and makes no
// values of them, so that a hostile text of 16 MiB costs no more memory than the text has (GRD-10).
func jsonValues(c api.Compare, expected, got []byte) (ok bool, difference string, err error) {
	a, b := &jsonText{all: expected}, &jsonText{all: got, nan: 1}
	if a.ended() {
		return false, "", errors.New("the expected output has no JSON value")
	}

	for n := 1; ; n++ {
		switch x, y := a.ended(), b.ended(); {
		case x && y:
			return true, "", nil
		case y:
			return false, fmt.Sprintf("value %d: ", n) + unmatchedMessage(a.all[a.at:], true), nil
		case x:
			return false, fmt.Sprintf("value %d: ", n) + unmatchedMessage(b.all[b.at:], false), nil
		}
		v := jsonPair{Compare: c, a: a, b: b}
		if err := v.compare(0); err != nil {
			return false, err.Error(), v.bad
		}
	}
}

// A jsonPair compares a value of the expected output with one of the program's. Its methods return an
// error that says what differs.
type jsonPair struct {
	api.Compare
	a, b *jsonText
	bad  error // the expected output is not JSON
}

// expected reports a mistake in the expected output.
func (v *jsonPair) expected(err error) error {
	if err != nil && v.bad == nil {
		v.bad = fmt.Errorf("the expected output is not JSON: %w", err)
	}
	return err
}

func gotError(err error) error {
	if err != nil {
		return fmt.Errorf("the output is not JSON: %w", err)
	}
	return nil
}

func (v *jsonPair) differ(fromA, fromB int) error {
	return fmt.Errorf("byte %d: %s", fromB+1, diffMessage(v.a.all[fromA:], v.b.all[fromB:], 0))
}

func (v *jsonPair) compare(depth int) error {
	x, y := v.a.kind(), v.b.kind()
	fromA, fromB := v.a.at, v.b.at
	if depth > maxDepth {
		return v.expected(v.a.skip(depth))
	}

	switch {
	case x == '[' && y == '[':
		if v.Unordered {
			return v.compareHashes(depth)
		}
		return v.compareArrays(depth)

	case x == '{' && y == '{':
		return v.compareObjects(depth)
	case x == '"' && y == '"':
		s, err := v.a.text()
		if v.expected(err) != nil {
			return err
		}

		t, err := v.b.text()
		if err != nil {
			return gotError(err)
		}
		if !sameString(s, t) {
			return v.differ(fromA, fromB)
		}
		return nil
	}

	// The expected value is read first: if both are no JSON, the mistake to report is that of the test.
	if err := v.expected(v.a.skip(depth)); err != nil {
		return err
	}

	if err := v.b.skip(depth); err != nil {
		return gotError(err)
	}
	if x == '[' || x == '{' || x == '"' || y == '[' || y == '{' || y == '"' ||
		!v.sameWord(v.a.all[fromA:v.a.at], v.b.all[fromB:v.b.at]) {
		return v.differ(fromA, fromB)
	}
	return nil
}

// isNaN reports whether a word is NaN, which equals nothing, not even itself.
func isNaN(word []byte) bool {
	if len(word) > 0 && (word[0] == '-' || word[0] == '+') {
		word = word[1:]
	}
	return equalFoldASCII(word, []byte("nan"))
}

// sameWord compares numbers, null, true and false. A number never equals true or false.
func (v *jsonPair) sameWord(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return v.NaNEqual || !isNaN(a)
	}

	x, ok := parseDecimal(a)
	y, also := parseDecimal(b)
	switch {
	case !ok || !also:
		return bytes.Equal(a, b)
	case x.word == "nan" || y.word == "nan":
		return v.NaNEqual && x.word == y.word
	case v.Tolerance == 0 || x.word != "" || y.word != "":
		return x.equal(y)
	}

	f, err := strconv.ParseFloat(string(a), 64)
	g, gerr := strconv.ParseFloat(string(b), 64)
	if err != nil || gerr != nil || underflows(a, f) || underflows(b, g) { // too large or too small for float64
		return margin{&v.Tolerance, &v.Tolerance, true}.permits(a, b)
	}
	return math.Abs(f-g) <= v.Tolerance*max(1, math.Abs(f), math.Abs(g))
}

func (v *jsonPair) compareArrays(depth int) error {
	v.a.at++
	v.b.at++
	endA, endB := v.a.take(']'), v.b.take(']')
	for n := 1; !endA && !endB; n++ {
		if err := v.compare(depth + 1); err != nil {
			return err
		}

		more, err := v.a.next(']')
		if err != nil {
			return v.expected(err)
		}

		also, err := v.b.next(']')
		if err != nil {
			return gotError(err)
		}

		endA, endB = !more, !also
	}

	switch {
	case !endA:
		return fmt.Errorf("byte %d: the array ends too early: expected also %s", v.b.at, excerpt(v.a.all[v.a.at:], 0))
	case !endB:
		return fmt.Errorf("byte %d: the array should have ended, got %s", v.b.at+1, excerpt(v.b.all[v.b.at:], 0))
	}

	return nil
}

// compareHashes compares two values whose arrays may have any order.
func (v *jsonPair) compareHashes(depth int) error {
	fromA, fromB := v.a.at, v.b.at
	x, err := v.a.hash(depth, v.NaNEqual)
	if v.expected(err) != nil {
		return err
	}

	y, err := v.b.hash(depth, v.NaNEqual)
	if err != nil {
		return gotError(err)
	}
	if x != y {
		return fmt.Errorf("byte %d: not the same elements in any order: %s", fromB+1,
			diffMessage(v.a.all[fromA:], v.b.all[fromB:], 0))
	}
	return nil
}

// compareObjects compares members in the order of the texts as long as their names are the same, and
// the rest by an index.
func (v *jsonPair) compareObjects(depth int) error {
	v.a.at++
	v.b.at++
	endA, endB := v.a.take('}'), v.b.take('}')
	for !endA && !endB {
		same, err := v.sameKey()
		switch {
		case err != nil:
			return err
		case !same:
			return v.compareMembers(depth)
		}
		if err := v.compare(depth + 1); err != nil {
			return err
		}

		more, err := v.a.next('}')
		if err != nil {
			return v.expected(err)
		}

		also, err := v.b.next('}')
		if err != nil {
			return gotError(err)
		}

		endA, endB = !more, !also
	}

	switch {
	case !endA:
		return fmt.Errorf("byte %d: the object ends too early: expected also %s", v.b.at, excerpt(v.a.all[v.a.at:], 0))
	case !endB:
		return fmt.Errorf("byte %d: the object should have ended, got %s", v.b.at+1, excerpt(v.b.all[v.b.at:], 0))
	}

	return nil
}

// sameKey reads the names of two members. If they differ it reads nothing.
func (v *jsonPair) sameKey() (bool, error) {
	fromA, fromB := v.a.at, v.b.at
	x, err := v.a.key()
	if v.expected(err) != nil {
		return false, err
	}

	y, err := v.b.key()
	if err != nil {
		return false, gotError(err)
	}
	if !sameString(x, y) {
		v.a.at, v.b.at = fromA, fromB
		return false, nil
	}
	return true, nil
}
