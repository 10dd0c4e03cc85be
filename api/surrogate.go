package api

import (
	"bytes"
	"strconv"
	"unicode/utf16"
)

// halfOf gives the first escape in a quoted JSON string that stands for half a character,
// as "\ud800" does without its other half, or nothing. The decoder would put U+FFFD in its
// place, and the program would not be the one that was sent.
func halfOf(quoted []byte) []byte {
	for {
		i := bytes.IndexByte(quoted, '\\')
		if i < 0 || i+1 >= len(quoted) {
			return nil
		}
		quoted = quoted[i:]
		first, ok := escaped(quoted)
		switch {
		case !ok:
			quoted = quoted[2:]
			continue
		case utf16.IsSurrogate(first):
			second, _ := escaped(quoted[6:])
			if utf16.DecodeRune(first, second) == '�' {
				return quoted[:6]
			}
			quoted = quoted[6:]
		}
		quoted = quoted[6:]
	}
}

// escaped reads an escape of the form \uXXXX at the start of text.
func escaped(text []byte) (unit rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}
