package api

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// largeBytes is the size from which content is encoded in pieces: json.Marshal has all
// of it in memory three times and more.
const largeBytes = 64 << 10

// Large reports whether the result is worth encoding in pieces.
func (r *Result) Large() bool { return r.Content() > 1<<20 }

// Content is how many bytes of output and files the result has, without those of tests.
func (r *Result) Content() int {
	n := len(r.Stdout) + len(r.Stderr)
	for _, f := range r.Files {
		n += len(f.Content)
	}
	return n
}

// EncodeTo writes what json.Marshal gives of the result, and holds little more of it
// than a piece.
func (r *Result) EncodeTo(w io.Writer) error {
	// A mark stands for each large content in the rest, which is encoded as ever. No
	// program can guess it.
	thin, secret := *r, rand.Text()
	var out []Bytes
	take := func(b *Bytes) {
		if len(*b) > largeBytes {
			out = append(out, *b)
			*b = Bytes(secret)
		}
	}
	take(&thin.Stdout)
	take(&thin.Stderr)
	thin.Files = slices.Clone(r.Files)
	for i := range thin.Files {
		take(&thin.Files[i].Content)
	}
	rest, err := json.Marshal(thin)
	if err != nil {
		return err
	}
	parts := bytes.Split(rest, []byte(`"`+secret+`"`)) // fields are in the order they were taken in
	if len(parts) != len(out)+1 {
		return errors.New("a content is not where it was taken from")
	}
	for i, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
		if i < len(out) {
			if err := out[i].encodeTo(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// encodeTo is MarshalJSON in pieces.
func (b Bytes) encodeTo(w io.Writer) error {
	if b.isText() {
		if _, err := io.WriteString(w, `"`); err != nil {
			return err
		}
		var piece []byte
		for len(b) > 0 {
			n := min(len(b), largeBytes)
			n -= b[:n].Unfinished()
			piece = appendText(piece[:0], b[:n])
			if _, err := w.Write(piece); err != nil {
				return err
			}
			b = b[n:]
		}
		_, err := io.WriteString(w, `"`)
		return err
	}
	if _, err := io.WriteString(w, `{"base64":"`); err != nil {
		return err
	}
	const whole = largeBytes / 3 * 3 // pieces need no padding, but for the last
	piece := make([]byte, 0, base64.StdEncoding.EncodedLen(whole))
	for len(b) > 0 {
		n := min(len(b), whole)
		if _, err := w.Write(base64.StdEncoding.AppendEncode(piece, b[:n])); err != nil {
			return err
		}
		b = b[n:]
	}
	_, err := io.WriteString(w, `"}`)
	return err
}

// appendText appends text as it stands in a JSON string of encoding/json's.
func appendText(to, text []byte) []byte {
	const hex = "0123456789abcdef"
	for i, c := range text {
		switch {
		case c == '"', c == '\\':
			to = append(to, '\\', c)
		case c == '\n':
			to = append(to, `\n`...)
		case c == '\t':
			to = append(to, `\t`...)
		case c == '\r':
			to = append(to, `\r`...)
		case c == '\b':
			to = append(to, `\b`...)
		case c == '\f':
			to = append(to, `\f`...)
		case c < ' ', c == '<', c == '>', c == '&':
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c == 0xa8 || c == 0xa9: // the end of U+2028 and U+2029, perhaps
			if i >= 2 && text[i-2] == 0xe2 && text[i-1] == 0x80 {
				to = append(to[:len(to)-2], `\u202`...)
				c = hex[c&15]
			}
			to = append(to, c)
		default:
			to = append(to, c)
		}
	}
	return to
}
