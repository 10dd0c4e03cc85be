package judge

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// compareMembers compares the remaining members of two objects in any order. Of two members with one
// name the last counts, as in Python.
func (v *jsonPair) compareMembers(depth int) error {
	if done, err := v.compareFew(depth); done || err != nil {
		return err
	}

	names, expected, err := v.a.members(depth)
	if v.expected(err) != nil {
		return err
	}

	also, got, err := v.b.members(depth)
	if err != nil {
		return gotError(err)
	}

	afterA, afterB := v.a.at, v.b.at
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

// fewMembers is how many members are found without an index.
const fewMembers = 16

// A member is one of an object: its name, and where its value begins.
type member struct {
	name []byte
	at   int
}

// compareFew is compareMembers for objects of few members with different names and the same names in both
// texts. done is false for others; then it has read nothing.
func (v *jsonPair) compareFew(depth int) (done bool, _ error) {
	var all, also [fewMembers]member
	fromA, fromB := v.a.at, v.b.at
	back := func() (bool, error) {
		v.a.at, v.b.at = fromA, fromB
		return false, nil
	}
	n := v.a.few(depth, &all)
	if n == 0 || v.b.few(depth, &also) != n {
		return back()
	}

	var pairs [fewMembers]int // the index in also of each in all
	for i := range n {
		pairs[i] = -1
		for k := range n {
			if !sameString(all[i].name, also[k].name) {
				continue
			}
			if pairs[i] >= 0 { // two with one name
				return back()
			}
			pairs[i] = k
		}

		if pairs[i] < 0 || slices.Contains(pairs[:i], pairs[i]) {
			return back()
		}
	}

	afterA, afterB := v.a.at, v.b.at
	for i := range n {
		v.a.at, v.b.at = all[i].at, also[pairs[i]].at
		if err := v.compare(depth + 1); err != nil {
			return false, err
		}
	}

	v.a.at, v.b.at = afterA, afterB
	return true, nil
}

// few reads the rest of an object; 0: it has too many members or a mistake.
func (t *jsonText) few(depth int, all *[fewMembers]member) (n int) {
	for more := true; more; n++ {
		name, err := t.key()
		if err != nil || n == len(all) {
			return 0
		}
		t.kind()
		all[n] = member{name, t.at}
		if t.skip(depth+1) != nil {
			return 0
		}
		if more, err = t.next('}'); err != nil {
			return 0
		}
	}

	return n
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
