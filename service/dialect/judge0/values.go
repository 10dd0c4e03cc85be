package judge0

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// An object is a part of a request. Its values are read as Rails reads parameters: a number may be a string, and a
// value that is an object or an array is not there.
type object map[string]json.RawMessage

// readObject reads a JSON object. A value that is none has no fields.
func readObject(raw json.RawMessage) (o object) {
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// text returns a value as a string; nil: it has none.
func (o object) text(name string) *string {
	raw := bytes.TrimSpace(o[name])
	if len(raw) == 0 || raw[0] == 'n' || raw[0] == '{' || raw[0] == '[' {
		return nil
	}

	s := string(raw)
	if raw[0] == '"' && json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return &s
}

var number = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$`)
})

// number returns a value that is a number, or is written as one. given: there is something else than nothing.
func (o object) number(name string) (v float64, is, given bool) {
	s := o.text(name)
	if s == nil || strings.TrimSpace(*s) == "" {
		return 0, false, false
	}
	if !number().MatchString(*s) {
		return 0, false, true
	}
	v, _ = strconv.ParseFloat(strings.TrimSpace(*s), 64) // out of range: infinite
	return v, true, true
}

// flag returns a value that is true or false. Nothing is false.
func (o object) flag(name string) bool {
	s := o.text(name)
	if s == nil {
		return false
	}
	switch *s {
	case "", "false", "FALSE", "f", "F", "0", "off", "OFF":
		return false
	}
	return true
}

// content returns a value that is content, which is base64 if the request says so; nil: it has none.
func (o object) content(name string, encoded bool) []byte {
	s := o.text(name)
	switch {
	case s == nil:
		return nil
	case encoded:
		return decode(*s)
	}
	return []byte(*s)
}

// decode reads base64 as Ruby does: up to the first =, and other characters are skipped. It returns no nil.
func decode(text string) []byte {
	kept := make([]byte, 0, len(text))
	for _, c := range []byte(text) {
		if c == '=' {
			break
		}
		if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' {
			kept = append(kept, c)
		}
	}
	if len(kept)%4 == 1 { // six bits are no byte
		kept = kept[:len(kept)-1]
	}

	b := make([]byte, base64.RawStdEncoding.DecodedLen(len(kept)))
	n, _ := base64.RawStdEncoding.Decode(b, kept) // no error: kept has its alphabet only
	return b[:n]
}

const lineOfBase64 = 60

// encode writes base64 as Ruby does, in lines that all end.
func encode(content []byte) string {
	text := base64.StdEncoding.EncodeToString(content)
	var b strings.Builder
	b.Grow(len(text) + len(text)/lineOfBase64 + 1)
	for len(text) > 0 {
		n := min(lineOfBase64, len(text))
		b.WriteString(text[:n])
		b.WriteByte('\n')
		text = text[n:]
	}
	return b.String()
}

// String is the number as the original writes it.
func (d decimal) String() string {
	v := float64(d)
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return "0.0" // impossible: bounds refuse it
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
