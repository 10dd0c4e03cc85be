package judge

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// maxDepth is how deep JSON values may be nested: reading them is recursive.
const maxDepth = 1000

// A jsonText reads JSON without making values of it. Beyond the standard it takes NaN, Infinity and
// -Infinity, which Python's json module writes.
type jsonText struct {
	all []byte
	at  int    // the next byte to read
	nan uint64 // the hash of NaN, where it equals no other

	indexed int // of the program's text: bytes of both texts that compareMembers has read so far

	scratch []byte // a string without its escapes
}

// A syntaxError says where a text is not JSON.
type syntaxError struct {
	at  int
	why string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.at+1, e.why) }

func (t *jsonText) fail(why string) error { return &syntaxError{t.at, why} }

// ended skips white space and reports whether nothing else is left.
func (t *jsonText) ended() bool { return t.kind() == 0 && t.at == len(t.all) }

// kind skips white space and returns the first byte of the next value or mark; 0 at the end of the text.
func (t *jsonText) kind() byte {
	for ; t.at < len(t.all); t.at++ {
		if c := t.all[t.at]; !isSpace(c) {
			return c
		}
	}
	return 0
}

// take reads the byte c, if it is the next one that is no white space.
func (t *jsonText) take(c byte) bool {
	if t.kind() != c || t.at == len(t.all) {
		return false
	}
	t.at++
	return true
}

// next reads what is between two elements of an array or members of an object: "," or the end.
func (t *jsonText) next(end byte) (more bool, err error) {
	switch t.kind() {
	case ',':
		t.at++
		if t.kind() == end {
			return false, t.fail("a value is missing after the comma")
		}
		return true, nil
	case end:
		t.at++
		return false, nil
	}
	return false, t.fail(fmt.Sprintf("expected a comma or %q", end))
}

// key reads the name of a member and the colon.
func (t *jsonText) key() ([]byte, error) {
	if t.kind() != '"' {
		return nil, t.fail("expected the name of a member in quotes")
	}
	name, err := t.text()
	if err == nil && !t.take(':') {
		err = t.fail("expected a colon")
	}
	return name, err
}

// text reads a string, and returns what is between its quotes.
func (t *jsonText) text() ([]byte, error) {
	from := t.at + 1
	for i := from; i < len(t.all); {
		n := bytes.IndexAny(t.all[i:], "\"\\\n")
		if n < 0 {
			break
		}

		i += n
		switch t.all[i] {
		case '"':
			t.at = i + 1
			return t.all[from:i], nil
		case '\\':
			i += 2
		case '\n':
			t.at = i
			return nil, t.fail("a line ends inside a string")
		}
	}

	t.at = len(t.all)
	return nil, t.fail("a string has no end")
}

// endsWord has the bytes that end a number or a name.
var endsWord = func() (ends [256]bool) {
	for _, c := range " \t\n\v\f\r,:[]{}\"" {
		ends[c] = true
	}
	return ends
}()

// word reads a number or a name.
func (t *jsonText) word() ([]byte, error) {
	from := t.at
	for t.at < len(t.all) && !endsWord[t.all[t.at]] {
		t.at++
	}

	w := t.all[from:t.at]
	switch string(w) {
	case "null", "true", "false":
		return w, nil
	case "":
		if from == len(t.all) {
			return w, t.fail("the text ends where a value is expected")
		}
		return w, t.fail(fmt.Sprintf("unexpected %q", t.all[from]))
	}

	if _, ok := parseDecimal(w); !ok {
		t.at = from
		return w, t.fail(fmt.Sprintf("%s is neither a number nor null, true or false", excerpt(w, 0)))
	}
	return w, nil
}

// skip reads a whole value.
func (t *jsonText) skip(depth int) error {
	if depth > maxDepth {
		return t.fail(fmt.Sprintf("nested deeper than %d", maxDepth))
	}

	switch c := t.kind(); c {
	case '"':
		_, err := t.text()
		return err
	case '[', '{':
		t.at++
		end := c + 2 // ']' and '}' are two after '[' and '{'
		if t.take(end) {
			return nil
		}

		for more := true; more; {
			if c == '{' {
				if _, err := t.key(); err != nil {
					return err
				}
			}
			if err := t.skip(depth + 1); err != nil {
				return err
			}
			var err error
			if more, err = t.next(end); err != nil {
				return err
			}
		}

		return nil
	}

	_, err := t.word()
	return err
}

// nextRune takes the first character off the text of a string, and decodes its escape. A byte that is
// no UTF-8 and half a surrogate pair are characters of their own.
func nextRune(s []byte) (r rune, rest []byte) {
	if s[0] < utf8.RuneSelf && s[0] != '\\' {
		return rune(s[0]), s[1:]
	}
	if s[0] != '\\' || len(s) == 1 {
		r, n := utf8.DecodeRune(s)
		if r == utf8.RuneError && n == 1 {
			return utf8.MaxRune + 1 + rune(s[0]), s[1:]
		}
		return r, s[n:]
	}

	switch c := s[1]; c {
	case 'n':
		return '\n', s[2:]
	case 't':
		return '\t', s[2:]
	case 'r':
		return '\r', s[2:]
	case 'b':
		return '\b', s[2:]
	case 'f':
		return '\f', s[2:]
	case 'u':
		high, ok := unit(s)
		if !ok {
			return 'u', s[2:]
		}
		if high>>10 == 0xD800>>10 && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			if low, ok := unit(s[6:]); ok && low>>10 == 0xDC00>>10 {
				return 0x10000 + (high&0x3FF)<<10 + low&0x3FF, s[12:]
			}
		}
		return high, s[6:]

	default:
		return rune(c), s[2:]
	}
}

// unit reads the four hex digits of an escape that begins with \u.
func unit(s []byte) (u rune, ok bool) {
	if len(s) < 6 {
		return 0, false
	}

	for _, c := range s[2:6] {
		switch c := lower(c); {
		case c-'0' <= 9:
			u = u<<4 | rune(c-'0')
		case c-'a' <= 5:
			u = u<<4 | rune(c-'a'+10)
		default:
			return 0, false
		}
	}

	return u, true
}

// sameString reports whether the texts of two strings mean the same characters.
func sameString(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	for len(a) > 0 && len(b) > 0 {
		var x, y rune
		x, a = nextRune(a)
		y, b = nextRune(b)
		if x != y {
			return false
		}
	}
	return len(a) == len(b)
}
