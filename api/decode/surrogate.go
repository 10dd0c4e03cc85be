package decode

import (
	"bytes"
	"strconv"
	"unicode/utf16"
)

// loneSurrogate returns the first escape in a quoted JSON string that stands for half a character, such as
// "\ud800" without its other half, or nil. The decoder would replace it by U+FFFD, and the program
// would not be the one that was sent.
func loneSurrogate(quoted []byte) []byte {
	for {
		i := bytes.IndexByte(quoted, '\\')
		if i < 0 || i+1 >= len(quoted) {
			return nil
		}
		quoted = quoted[i:]
		first, ok := unicodeEscape(quoted)
		switch {
		case !ok:
			quoted = quoted[2:]
			continue
		case utf16.IsSurrogate(first):
			second, _ := unicodeEscape(quoted[6:])
			if utf16.DecodeRune(first, second) == '�' {
				return quoted[:6]
			}
			quoted = quoted[6:]
		}
		quoted = quoted[6:]
	}
}

// unicodeEscape reads an escape of the form \uXXXX at the start of text.
func unicodeEscape(text []byte) (unit rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}
