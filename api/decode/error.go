package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A decodeError is the first place where JSON does not have the form of a type. Its text is for
// people who know the names of fields but not Go's types.
type decodeError struct {
	path   string // such as tests[0].limits.wall; empty: the whole JSON
	reason string
}

func (m *decodeError) Error() string {
	if m.path == "" {
		return m.reason
	}
	return m.path + ": " + m.reason
}

func (m *decodeError) prefix(name string) *decodeError {
	switch {
	case m.path == "":
		m.path = name
	case m.path[0] == '[':
		m.path = name + m.path
	default:
		m.path = name + "." + m.path
	}
	return m
}

// findDecodeError finds the first place where raw does not have the form of t, or returns nil. raw is JSON
// that the decoder has refused only for its form. findDecodeError reads it once at any nesting, and builds
// no lists or objects: a request that is refused late must not cost more than an accepted one
// (API-15, TestDecodeErrorCostsNoMoreThanDecoding).
func findDecodeError(raw []byte, t reflect.Type) *decodeError {
	f := shapeChecker{raw: raw}
	return f.value(t, decodesItself(t))
}

// A shapeChecker compares valid JSON with the form of a type.
type shapeChecker struct {
	raw []byte
	at  int // of the next byte
}

func decodesItself(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// value compares the next value with t and moves past it. own says that t decodes itself.
func (f *shapeChecker) value(t reflect.Type, selfDecoding bool) *decodeError {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	f.skipSpace()
	object, first := t.Kind() == reflect.Struct || t.Kind() == reflect.Map, f.raw[f.at]
	switch {
	case !selfDecoding && t.Kind() == reflect.String && first == '"':
		f.skipValue()
		return nil
	case selfDecoding || !object && t.Kind() != reflect.Slice:
		text := f.skipValue()
		err := json.Unmarshal(text, reflect.New(t).Interface())
		switch {
		case err == nil:
			return nil
		case selfDecoding:
			return &decodeError{reason: err.Error()}
		}
		return &decodeError{reason: fmt.Sprintf("write %s, not %s", expectedForm(text, t), abbreviated(text))}
	case first == 'n': // null fits any type
		f.skipValue()
		return nil
	case object && first != '{', !object && first != '[':
		text := f.skipValue()
		return &decodeError{reason: fmt.Sprintf("write %s, not %s", expectedForm(text, t), abbreviated(text))}
	case object:
		return f.object(t)
	}
	return f.list(t.Elem())
}

func (f *shapeChecker) object(t reflect.Type) *decodeError {
	for f.next('}') {
		name := f.name()
		var inner reflect.Type
		if t.Kind() == reflect.Map {
			inner = t.Elem()
		} else if field, known := fieldOf(t, name); known {
			inner = field
		} else {
			f.skipSpace()
			return unknownField(name, f.skipValue(), t)
		}
		if m := f.value(inner, decodesItself(inner)); m != nil {
			return m.prefix(fmt.Sprintf("%.80s", name))
		}
	}
	return nil
}

func (f *shapeChecker) list(of reflect.Type) *decodeError {
	selfDecoding := decodesItself(of)
	for i := 0; f.next(']'); i++ {
		if m := f.value(of, selfDecoding); m != nil {
			return m.prefix(fmt.Sprintf("[%d]", i))
		}
	}
	return nil
}

// next moves past the opening bracket or the comma before the next element of a list or object,
// and reports whether there is an element. If there is none, it moves past the end.
func (f *shapeChecker) next(end byte) bool {
	f.skipSpace()
	if f.raw[f.at] != end {
		f.at++
		f.skipSpace()
	}
	if f.raw[f.at] == end {
		f.at++
		return false
	}
	return true
}

// name reads a name and moves past its colon.
func (f *shapeChecker) name() (name string) {
	if json.Unmarshal(f.skipValue(), &name) != nil {
		return ""
	}
	f.skipSpace()
	f.at++
	return name
}

func (f *shapeChecker) skipSpace() {
	for f.at < len(f.raw) && isBlank(f.raw[f.at]) {
		f.at++
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// skipValue moves past a value and returns its text.
func (f *shapeChecker) skipValue() []byte {
	begin, depth := f.at, 0
	for ; f.at < len(f.raw); f.at++ {
		switch c := f.raw[f.at]; {
		case c == '"':
			f.at = stringEnd(f.raw, f.at)
		case c == '{', c == '[':
			depth++
			continue
		case c == '}', c == ']':
			depth--
		case depth == 0: // a number, true, false or null
			for f.at+1 < len(f.raw) && !isBlank(f.raw[f.at+1]) && strings.IndexByte(",]}", f.raw[f.at+1]) < 0 {
				f.at++
			}
		default:
			continue
		}
		if depth == 0 {
			f.at++
			break
		}
	}
	return f.raw[begin:f.at]
}

// expectedForm says what to write instead of raw where a t is expected.
func expectedForm(raw []byte, t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number, such as 1.5"
	case reflect.Int, reflect.Int64:
		if len(bytes.Trim(raw, "-0123456789")) == 0 {
			return "a whole number that fits into 64 bits"
		}
		return "a whole number, such as 64"
	case reflect.Slice:
		if of := t.Elem(); of.Kind() == reflect.Struct {
			return fmt.Sprintf("a list such as [{%q: ...}]", nameOf(of.Field(0)))
		}
		return `a list such as ["a", "b"]`
	}
	return "an object in { }"
}

// abbreviated returns the beginning of raw.
func abbreviated(raw []byte) string {
	const most = 40
	if len(raw) <= most {
		return strings.TrimRight(string(raw), " \t\r\n")
	}
	return strings.ToValidUTF8(string(raw[:most]), "") + "..."
}

// fields returns the names of t's fields, in their order.
func fields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		names = append(names, nameOf(t.Field(i)))
	}
	return names
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); nameOf(f) == name {
			return f.Type, true
		}
	}
	return nil, false
}

// fieldAliases maps names that other requests and other services use to the names of fields here.
var fieldAliases = map[string][]string{
	"code": {"source"}, "source": {"code"}, "command": {"argv"}, "cmd": {"argv"}, "input": {"stdin"},
	"output": {"expected"}, "answer": {"expected"}, "timeout": {"timeout_seconds", "wall"}, "time_limit": {"timeout_seconds", "wall"}, "memory_limit": {"memory"},
}

// unknownField suggests what name, which t does not have, was probably meant to be.
func unknownField(name string, value []byte, t reflect.Type) *decodeError {
	m := &decodeError{reason: fmt.Sprintf("unknown field %.80q: ", name)}
	known := fields(t)
	for _, other := range fieldAliases[name] {
		if slices.Contains(known, other) {
			m.reason += "here it is called " + other
			return m
		}
	}
	if in := parentField(name, value, t); in != "" {
		m.reason += "put it into " + in
		return m
	}
	for _, other := range fieldAliases[name] {
		if in := parentField(other, nil, t); in != "" {
			m.reason += "here it is called " + in + "." + other
			return m
		}
	}
	for _, other := range known {
		if similar(name, other) {
			m.reason += "did you mean " + other + "?"
			return m
		}
	}
	m.reason += "the fields here are " + strings.Join(known, ", ")
	return m
}

// parentField returns the field of t whose type has a field with that name that value fits. Of several
// it takes the one with the shortest name, for example limits and not compile_limits.
func parentField(name string, value []byte, t reflect.Type) string {
	best := ""
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Kind() != reflect.Struct || best != "" && len(best) <= len(nameOf(f)) {
			continue
		}
		if inner, has := fieldOf(f.Type, name); has && (value == nil || findDecodeError(value, inner) == nil) {
			best = nameOf(f)
		}
	}
	return best
}

// similar reports whether one of a and b begins with the other, or whether they differ by one typing
// error: a letter more, less or different, or two letters swapped.
func similar(a, b string) bool {
	if min(len(a), len(b)) > 2 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
		return true
	}
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case len(a) == len(b)+1:
		return a[1:] == b
	case len(b) == len(a)+1:
		return b[1:] == a
	case len(a) != len(b):
		return false
	case a[1:] == b[1:]:
		return true
	}
	return a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
}
