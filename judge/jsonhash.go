package judge

import (
	"bytes"
	"fmt"
	"unicode/utf16"
)

// hash reads a value and returns a hash that does not depend on the order of the elements of arrays and
// of the members of objects.
func (t *jsonText) hash(depth int, nanEqual bool) (uint64, error) {
	if depth > maxDepth {
		return 0, t.fail(fmt.Sprintf("nested deeper than %d", maxDepth))
	}

	c := t.kind()
	switch c {
	case '"':
		s, err := t.text()
		return t.hashString(s), err
	case '[', '{':
	default:
		w, err := t.word()
		if err != nil {
			return 0, err
		}

		// One number has many texts, such as 1, 1.0 and 10e-1. Equal numbers must have the same hash.
		d, ok := parseDecimal(w)
		switch {
		case !ok:
			return mix('w', hashToken(w)), nil
		case d.word == "nan" && nanEqual: // with a sign or without, as in sameWord
			return mix('n', secret), nil
		case d.word == "nan":
			// NaN equals nothing. The two texts have different values in nan, so that their hashes differ.
			return mix('n', t.nan), nil
		}

		return d.hash(), nil
	}

	t.at++
	end := c + 2
	var s sum
	if t.take(end) {
		return mix(uint64(c), 0), nil
	}

	for more := true; more; {
		var name uint64
		if c == '{' {
			k, err := t.key()
			if err != nil {
				return 0, err
			}
			name = t.hashString(k)
		}

		value, err := t.hash(depth+1, nanEqual)
		if err != nil {
			return 0, err
		}

		s.add(mix(name, value))
		if more, err = t.next(end); err != nil {
			return 0, err
		}
	}

	return mix(mix(uint64(c), s.hi), mix(s.lo, uint64(s.parts))), nil
}

// hashString is the same for the texts of strings that mean the same characters.
func (t *jsonText) hashString(s []byte) uint64 {
	if bytes.IndexByte(s, '\\') < 0 {
		return mix('s', hashToken(s))
	}
	t.scratch = t.scratch[:0]
	for rest := s; len(rest) > 0; {
		var r rune
		if r, rest = nextRune(rest); utf16.IsSurrogate(r) { // UTF-8 has no half pairs
			return hashRunes(s)
		}
		t.scratch = appendRune(t.scratch, r)
	}
	return mix('s', hashToken(t.scratch))
}

func hashRunes(s []byte) uint64 {
	h := mix('h', secret)
	for len(s) > 0 {
		var r rune
		r, s = nextRune(s)
		h = mix(h, uint64(r))
	}
	return h
}

// hash is the same for equal numbers.
func (d decimal) hash() uint64 {
	if d.word != "" {
		return mix('i', secret^sign(d.negative))
	}

	h := uint64(secret)
	for _, c := range d.digits {
		if c != '.' {
			h = mix(h, uint64(c))
		}
	}

	return mix(h, uint64(d.exponent)<<1|sign(d.negative))
}

func sign(negative bool) uint64 {
	if negative {
		return 1
	}
	return 0
}
