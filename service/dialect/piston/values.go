package piston

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"sync"
	"unicode/utf8"
)

// An object is a part of a request. The original reads it in JavaScript, and so do the functions here: a field may be
// absent, and a value is true or false whatever it is.
type object map[string]json.RawMessage

// readObject reads a JSON object. A value that is none has no fields.
func readObject(raw json.RawMessage) (o object) {
	if kind(raw) == '{' && json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// kind is the first character of a value; zero: it is absent.
func kind(raw json.RawMessage) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

// isFalse reports whether a value is false as a condition of JavaScript.
func isFalse(raw json.RawMessage) bool {
	switch kind(raw) {
	case 0, 'n', 'f':
		return true
	case '"':
		return string(raw) == `""`
	case '{', '[', 't':
		return false
	}
	return number(raw) == 0
}

// isNull reports whether a value is absent or null.
func isNull(raw json.RawMessage) bool { return kind(raw) == 0 || kind(raw) == 'n' }

// text returns a value that is a string.
func text(raw json.RawMessage) (s string, is bool) {
	if kind(raw) != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// isNumber reports whether a value is a number.
func isNumber(raw json.RawMessage) bool {
	c := kind(raw)
	return c == '-' || c >= '0' && c <= '9'
}

// number returns a value that is a number. One that is out of range is infinite.
func number(raw json.RawMessage) float64 {
	v, _ := strconv.ParseFloat(string(raw), 64)
	return v
}

// list returns the elements of a value that is an array.
func list(raw json.RawMessage) (l []json.RawMessage, is bool) {
	if kind(raw) != '[' || json.Unmarshal(raw, &l) != nil {
		return nil, false
	}
	return l, true
}

// exponent finds the exponent of a number; JavaScript writes none with leading zeros.
var exponent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`e([+-])0*(\d)`) })

// asText returns what a value is as a text in JavaScript. It is for strings, numbers, true, false, null, and nothing.
func asText(raw json.RawMessage) string {
	if s, is := text(raw); is {
		return s
	}
	if kind(raw) == 0 {
		return "undefined"
	}
	if !isNumber(raw) {
		return string(raw)
	}

	v := number(raw)
	switch abs := math.Abs(v); {
	case v == 0:
		return "0"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	case abs >= 1e21 || abs < 1e-6:
		return exponent().ReplaceAllString(strconv.FormatFloat(v, 'e', -1, 64), "e$1$2")
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// maxShown bounds what a message repeats of a request, in bytes.
const maxShown = 256

// shown is a text for a message.
func shown(s string) string {
	if len(s) <= maxShown {
		return s
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
