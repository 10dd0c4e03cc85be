package api

import (
	"encoding/base64"
	"iter"
	"unicode/utf8"
)

// A content is a large value and the form in which it is written: text, or base64 between head
// and tail.
type content struct {
	bytes      Bytes // or
	text       string
	isText     bool
	head, tail string
	size       int64 // before encoding
	encoded    int64 // after encoding
}

// contentOf makes a content in the form of Bytes.
func contentOf(b Bytes) content {
	c := content{bytes: b}
	valid, escapes := c.measure()
	c.isText = valid && escapes.fitText(c.size)
	return c.setForm(`{"base64":"`, `"}`, escapes)
}

// contentOfText makes a content of a string that is valid UTF-8.
func contentOfText(text string) content {
	c := content{text: text, isText: true}
	_, escapes := c.measure()
	return c.setForm("", "", escapes)
}

func (f FileValue) content() content {
	c := content{bytes: Bytes(f)}
	var e escapes
	c.isText, e = c.measure()
	return c.setForm(`{"content":"`, `","encoding":"base64"}`, e)
}

// setForm sets how a content is written; head and tail apply to the base64 form.
func (c content) setForm(head, tail string, e escapes) content {
	c.head, c.tail, c.encoded = head, tail, int64(base64.StdEncoding.EncodedLen(int(c.size)))
	if c.isText {
		c.head, c.tail, c.encoded = `"`, `"`, c.size+e.exact
	}
	c.encoded += int64(len(c.head) + len(c.tail))
	return c
}

// measure reads the content once; it sets size, checks for UTF-8 and counts the escapes.
func (c *content) measure() (valid bool, e escapes) {
	valid = true
	for piece := range c.pieces(Bytes.IncompleteTail) {
		valid = valid && utf8.Valid(piece)
		c.size += int64(len(piece))
		e.count(piece)
	}
	return valid, e
}

// json yields the encoded content in pieces. A piece is valid only until the next one.
func (c content) json() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !yield([]byte(c.head)) {
			return
		}
		cut := func(b Bytes) int { return len(b) % 3 } // so that only the last piece is padded
		if c.isText {
			cut = Bytes.IncompleteTail
		}
		var out []byte
		for piece := range c.pieces(cut) {
			if c.isText {
				out = appendEscaped(out[:0], piece)
			} else {
				out = base64.StdEncoding.AppendEncode(out[:0], piece)
			}
			if !yield(out) {
				return
			}
		}
		yield([]byte(c.tail))
	}
}

// pieces yields a content in pieces of nearly pieceSize. cut says how many bytes at the end of a
// piece move to the start of the next one.
func (c content) pieces(cut func(Bytes) int) iter.Seq[Bytes] {
	return func(yield func(Bytes) bool) {
		buf := make(Bytes, 0, pieceSize)
		if c.text != "" {
			buf = fillPieces(buf, c.text, cut, yield)
		} else {
			buf = fillPieces(buf, c.bytes, cut, yield)
		}
		if len(buf) > 0 {
			yield(buf)
		}
	}
}

// pieceSize is small, since each slow reader holds one piece.
const pieceSize = 16 << 10

// fillPieces yields each full buf and returns the rest, or nil if the consumer wants no more.
func fillPieces[T Bytes | string](buf Bytes, part T, cut func(Bytes) int, yield func(Bytes) bool) Bytes {
	for len(part) > 0 {
		n := copy(buf[len(buf):cap(buf)], part)
		buf, part = buf[:len(buf)+n], part[n:]
		if len(buf) < cap(buf) {
			break
		}
		whole := len(buf) - cut(buf)
		if !yield(buf[:whole]) {
			return nil
		}
		buf = buf[:copy(buf, buf[whole:])]
	}
	return buf
}

// appendEscaped appends text, escaped as encoding/json does in a JSON string.
func appendEscaped(to, text []byte) []byte {
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
		case c == 0xa8 || c == 0xa9: // possibly the last byte of U+2028 or U+2029
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

// escapes counts the bytes by which a text grows in a JSON string.
type escapes struct {
	exact  int64
	costly int64 // by the rules of Bytes, for the choice between text and base64
}

// count adds the escapes of text, which must not end inside a character.
func (e *escapes) count(text []byte) {
	for i, c := range text {
		switch {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			e.exact, e.costly = e.exact+1, e.costly+1
		case c == '\b', c == '\f':
			e.exact, e.costly = e.exact+1, e.costly+5
		case c < ' ', c == '<', c == '>', c == '&': // \u00XX, as encoding/json writes them
			e.exact, e.costly = e.exact+5, e.costly+5
		case (c == 0xa8 || c == 0xa9) && i >= 2 && text[i-2] == 0xe2 && text[i-1] == 0x80: // U+2028, U+2029
			e.exact += 3
		}
	}
}
