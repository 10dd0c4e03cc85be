package judge

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// maxReadAgain is how many bytes of both texts are read for objects in another order: two texts of 16 MiB 16 times.
const maxReadAgain = 1 << 29

// compareMembers compares the remaining members of two objects in any order. Of two members with one
// name the last counts, as in Python.
func (v *jsonPair) compareMembers(depth int) error {
	fromA, fromB := v.a.at, v.b.at
	names, expected, err := v.a.members(depth)
	if v.expected(err) != nil {
		return err
	}

	also, got, err := v.b.members(depth)
	if err != nil {
		return gotError(err)
	}

	// What is below is read again. A hostile output that changes the order at each level, and is large at the lowest,
	// would have megabytes read a thousand times (GRD-10).
	afterA, afterB := v.a.at, v.b.at
	v.b.indexed += afterA - fromA + afterB - fromB
	if v.b.indexed > maxReadAgain {
		return fmt.Errorf("byte %d: objects in another order are nested so deep, in so large an output, that they are not compared",
			fromB+1)
	}

	for _, name := range also {
		if _, ok := expected[name]; !ok {
			return fmt.Errorf("byte %d: unexpected member %s", got[name]+1, excerpt([]byte(name), 0))
		}
	}

	for _, name := range names {
		at, ok := got[name]
		if !ok {
			return fmt.Errorf("byte %d: the member %s is missing", afterB, excerpt([]byte(name), 0))
		}
		v.a.at, v.b.at = expected[name], at
		if err := v.compare(depth + 1); err != nil {
			return err
		}
	}

	v.a.at, v.b.at = afterA, afterB
	return nil
}

// members reads the rest of an object, and returns the names of its members and where the value of each
// begins.
func (t *jsonText) members(depth int) (names []string, all map[string]int, _ error) {
	all = map[string]int{}
	for more := true; more; {
		name, err := t.key()
		if err != nil {
			return nil, nil, err
		}
		if len(names) == maxIndexed {
			return nil, nil, t.fail(fmt.Sprintf("an object with over %d members whose order differs", maxIndexed))
		}

		t.kind()
		names = append(names, decoded(name))
		all[names[len(names)-1]] = t.at
		if err := t.skip(depth + 1); err != nil {
			return nil, nil, err
		}
		if more, err = t.next('}'); err != nil {
			return nil, nil, err
		}
	}

	return names, all, nil
}

// decoded is the text of a string without escapes. Bytes that are no UTF-8 stay as they are.
func decoded(s []byte) string {
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s)
	}
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		var r rune
		r, s = nextRune(s)
		out = appendRune(out, r)
	}
	return string(out)
}

// appendRune appends what nextRune has read.
func appendRune(out []byte, r rune) []byte {
	if r > utf8.MaxRune {
		return append(out, byte(r-utf8.MaxRune-1))
	}
	return utf8.AppendRune(out, r)
}
