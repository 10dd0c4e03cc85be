package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Bytes is binary-safe content. In JSON it is a string when it is valid UTF-8,
// and {"base64": "..."} when it is not, so that no byte is ever lost or replaced.
// Content over 64 KiB is also base64 if that is shorter than the escaped text, and content over
// 1 KiB if escapes would more than double it: a program that prints NULs must not cost its
// readers six times as much. Short lines stay text for people.
type Bytes []byte

const (
	alwaysTextMax = 1 << 10
	longTextMin   = 64 << 10
)

type encodedBytes struct {
	Base64 *string `json:"base64"`
}

// IncompleteTail counts the bytes at the end that begin a UTF-8 character and do not complete it.
// Text that is cut before them stays valid text.
func (b Bytes) IncompleteTail() int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return i
		}
	}
	return 0
}

// MarshalJSON writes text as text and anything else as base64.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if b.isText() {
		return json.Marshal(string(b))
	}
	s := base64.StdEncoding.EncodeToString(b)
	return json.Marshal(encodedBytes{&s})
}

// isText reports whether the content is written as text, not as base64.
func (b Bytes) isText() bool {
	if !utf8.Valid(b) {
		return false
	}
	var e escapes
	if len(b) > alwaysTextMax {
		e.count(b)
	}
	return e.fitText(int64(len(b)))
}

// fitText reports whether content of this size is written as text, given its escapes.
func (e escapes) fitText(size int64) bool {
	switch {
	case size <= alwaysTextMax:
		return true
	case size <= longTextMin:
		return e.costly <= size
	}
	return e.costly <= size/3 // as much as base64 adds
}

// UnmarshalJSON reads either form; null leaves the value unchanged. Input in the form that
// MarshalJSON writes without escapes is decoded with only one copy of the content in memory.
func (b *Bytes) UnmarshalJSON(in []byte) error {
	if string(in) == "null" {
		return nil
	}
	if text, is := textBetween(in, `"`, `"`); is && utf8.Valid(text) {
		*b = append(Bytes{}, text...)
		return nil
	}
	if text, is := textBetween(in, `{"base64":"`, `"}`); is {
		raw := make(Bytes, base64.StdEncoding.DecodedLen(len(text)))
		if n, err := base64.StdEncoding.Decode(raw, text); err == nil {
			*b = raw[:n]
			return nil
		}
	}
	if text, is := unquote(in); is {
		*b = text
		return nil
	}

	var s string
	if json.Unmarshal(in, &s) == nil {
		*b = Bytes(s)
		return nil
	}

	var e encodedBytes
	if err := json.Unmarshal(in, &e); err != nil || e.Base64 == nil {
		return fmt.Errorf(`content: write a string, or {"base64": "..."} for bytes that are not UTF-8`)
	}

	raw, err := base64.StdEncoding.DecodeString(*e.Base64)
	if err != nil {
		return fmt.Errorf("content: base64: %w", err)
	}

	*b = raw
	return nil
}

// unquote decodes a JSON string in one pass. It reports false if the input has a \u escape or is
// not a string. encoding/json has scanned the input already and would scan it twice more.
func unquote(in []byte) (text Bytes, is bool) {
	if len(in) < 2 || in[0] != '"' || in[len(in)-1] != '"' || !utf8.Valid(in) {
		return nil, false
	}

	in = in[1 : len(in)-1]
	text = make(Bytes, 0, len(in))
	for i := 0; i < len(in); i++ {
		c := in[i]
		switch {
		case c < ' ', c == '"':
			return nil, false
		case c == '\\':
			if i++; i == len(in) {
				return nil, false
			}
			if c = simpleEscapes[in[i]]; c == 0 {
				return nil, false
			}
		}

		text = append(text, c)
	}

	return text, true
}

// simpleEscapes maps the character after a backslash to the character that the escape stands for.
var simpleEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// textBetween returns the text between head and tail if it needs no unescaping: no quotes, backslashes
// or control characters.
func textBetween(in []byte, head, tail string) (text []byte, is bool) {
	text, isHead := bytes.CutPrefix(in, []byte(head))
	text, isTail := bytes.CutSuffix(text, []byte(tail))
	if !isHead || !isTail {
		return nil, false
	}
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			return nil, false
		}
	}
	return text, true
}
