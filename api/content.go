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

// How a byte is written in a JSON string by encoding/json.
const (
	plain     = iota // as it is
	short            // a backslash and a character
	rareShort        // the same, for a byte that the rules of Bytes take for costly
	hexEscape        // \u00XX
	separator        // the last byte of U+2028 or U+2029, which are \u202X, or of another character
)

// escapeOf has the way in which each byte is written, and shortEscapes the character after the backslash.
var escapeOf, shortEscapes = func() (of, after [256]byte) {
	for c := range byte(' ') {
		of[c] = hexEscape
	}
	of['<'], of['>'], of['&'] = hexEscape, hexEscape, hexEscape
	of['\b'], of['\f'] = rareShort, rareShort
	for _, c := range "\"\\\n\r\t" {
		of[c] = short
	}
	of[0xa8], of[0xa9] = separator, separator
	for escape, c := range simpleEscapes {
		if of[c] == short || of[c] == rareShort {
			after[c] = byte(escape)
		}
	}
	return of, after
}()

// isSeparator reports whether a separator byte at i really ends U+2028 or U+2029.
func isSeparator(text []byte, i int) bool {
	return i >= 2 && text[i-2] == 0xe2 && text[i-1] == 0x80
}

// appendEscaped appends text, escaped as encoding/json does in a JSON string.
func appendEscaped(to, text []byte) []byte {
	const hex = "0123456789abcdef"
	written := 0
	for i, c := range text {
		way := escapeOf[c]
		if way == plain || way == separator && !isSeparator(text, i) {
			continue
		}
		if way == separator {
			to = append(append(to, text[written:i-2]...), '\\', 'u', '2', '0', '2', hex[c&15])
		} else if to = append(to, text[written:i]...); way == hexEscape {
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			to = append(to, '\\', shortEscapes[c])
		}
		written = i + 1
	}

	return append(to, text[written:]...)
}

// escapes counts the bytes by which a text grows in a JSON string.
type escapes struct {
	exact  int64
	costly int64 // by the rules of Bytes, for the choice between text and base64
}

// growth has what each way of writing adds, in bytes. A separator is counted on its own.
var growth = [...]escapes{short: {1, 1}, rareShort: {1, 5}, hexEscape: {5, 5}, separator: {}}

// count adds the escapes of text, which must not end inside a character.
func (e *escapes) count(text []byte) {
	for i, c := range text {
		way := escapeOf[c]
		if way == plain {
			continue
		}
		if way == separator && isSeparator(text, i) {
			e.exact += 3
		}
		e.exact, e.costly = e.exact+growth[way].exact, e.costly+growth[way].costly
	}
}
