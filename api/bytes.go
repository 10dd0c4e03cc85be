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
// Content over 64 KiB is also base64 where that is shorter than escaping it, and content over
// 1 KiB where escapes would more than double it: a program that prints NULs must not cost its
// readers six times as much, and short lines stay text for people.
type Bytes []byte

const (
	alwaysText  = 1 << 10
	longContent = 64 << 10
)

type encodedBytes struct {
	Base64 *string `json:"base64"`
}

// Unfinished counts the bytes at the end that begin a character and do not finish it:
// cut before them, text stays text.
func (b Bytes) Unfinished() int {
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

// isText says which of the two forms content has.
func (b Bytes) isText() bool {
	if !utf8.Valid(b) {
		return false
	}
	var e escapes
	if len(b) > alwaysText {
		e.count(b)
	}
	return e.fit(int64(len(b)))
}

// fit reports whether content of so many bytes is written as text with these escapes.
func (e escapes) fit(size int64) bool {
	switch {
	case size <= alwaysText:
		return true
	case size <= longContent:
		return e.costly <= size
	}
	return e.costly <= size/3 // as much as base64 adds
}

// UnmarshalJSON reads either form; null is as if nothing were given. As MarshalJSON writes them, without escapes, content is
// in memory no more than once beside them.
func (b *Bytes) UnmarshalJSON(in []byte) error {
	if string(in) == "null" {
		return nil
	}
	if text, is := between(in, `"`, `"`); is && utf8.Valid(text) {
		*b = append(Bytes{}, text...)
		return nil
	}
	if text, is := between(in, `{"base64":"`, `"}`); is {
		raw := make(Bytes, base64.StdEncoding.DecodedLen(len(text)))
		if n, err := base64.StdEncoding.Decode(raw, text); err == nil {
			*b = raw[:n]
			return nil
		}
	}
	if text, is := unquoted(in); is {
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

// unquoted is a JSON string's text, unless it has \u or is none: encoding/json, which has
// looked through it already, would do so twice more.
func unquoted(in []byte) (text Bytes, is bool) {
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
			if c = escapedAs[in[i]]; c == 0 {
				return nil, false
			}
		}
		text = append(text, c)
	}
	return text, true
}

// escapedAs are the characters that stand for another behind a backslash.
var escapedAs = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// between gives what stands between head and tail, if it is what a JSON string may hold and
// stands for itself.
func between(in []byte, head, tail string) (text []byte, is bool) {
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
