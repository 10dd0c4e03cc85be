package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A misfitting is the first place where JSON does not have the form of a type, for
// people who know the names of fields and none of Go's.
type misfitting struct {
	path string // such as tests[0].limits.wall; empty: the whole
	why  string
}

func (m *misfitting) Error() string {
	if m.path == "" {
		return m.why
	}
	return m.path + ": " + m.why
}

func (m *misfitting) below(name string) *misfitting {
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

// misfit finds where raw does not have the form of t, or returns nil. raw is JSON that the
// decoder has refused for its form alone. It is read once, whatever the nesting, and nothing of
// lists and objects is made: a request that is refused late must not cost more than one that
// is taken (API-15, TestAMisfitCostsNoMoreThanTheDecoding).
func misfit(raw []byte, t reflect.Type) *misfitting {
	f := former{raw: raw}
	return f.value(t, decodesItself(t))
}

// A former compares JSON, which is valid, with the form of a type.
type former struct {
	raw []byte
	at  int // of the next byte
}

func decodesItself(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// value compares the next value, and is behind it afterwards. own says that t decodes itself.
func (f *former) value(t reflect.Type, own bool) *misfitting {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	f.space()
	object, first := t.Kind() == reflect.Struct || t.Kind() == reflect.Map, f.raw[f.at]
	switch {
	case !own && t.Kind() == reflect.String && first == '"':
		f.skip()
		return nil
	case own || !object && t.Kind() != reflect.Slice:
		text := f.skip()
		err := json.Unmarshal(text, reflect.New(t).Interface())
		switch {
		case err == nil:
			return nil
		case own:
			return &misfitting{why: err.Error()}
		}
		return &misfitting{why: fmt.Sprintf("write %s, not %s", wanted(text, t), shown(text))}
	case first == 'n': // null is nothing at all
		f.skip()
		return nil
	case object && first != '{', !object && first != '[':
		text := f.skip()
		return &misfitting{why: fmt.Sprintf("write %s, not %s", wanted(text, t), shown(text))}
	case object:
		return f.object(t)
	}
	return f.list(t.Elem())
}

func (f *former) object(t reflect.Type) *misfitting {
	for f.more('}') {
		name := f.name()
		inner, known := reflect.Type(nil), true
		if t.Kind() == reflect.Map {
			inner = t.Elem()
		} else if inner, known = fieldOf(t, name); !known {
			f.space()
			return unknownField(name, f.skip(), t)
		}
		if m := f.value(inner, decodesItself(inner)); m != nil {
			return m.below(fmt.Sprintf("%.80s", name))
		}
	}
	return nil
}

func (f *former) list(of reflect.Type) *misfitting {
	own := decodesItself(of)
	for i := 0; f.more(']'); i++ {
		if m := f.value(of, own); m != nil {
			return m.below(fmt.Sprintf("[%d]", i))
		}
	}
	return nil
}

// more passes what stands before the next element of a list or object, which is its opening
// bracket or a comma, and reports whether there is one; else it is behind the end.
func (f *former) more(end byte) bool {
	f.space()
	if f.raw[f.at] != end {
		f.at++
		f.space()
	}
	if f.raw[f.at] == end {
		f.at++
		return false
	}
	return true
}

// name passes a name and its colon.
func (f *former) name() (name string) {
	if json.Unmarshal(f.skip(), &name) != nil {
		return ""
	}
	f.space()
	f.at++
	return name
}

func (f *former) space() {
	for f.at < len(f.raw) && isBlank(f.raw[f.at]) {
		f.at++
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// skip passes a value, and gives its text.
func (f *former) skip() []byte {
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
		case depth == 0: // of a number or word
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

// wanted says what to write instead of raw where there is to be a t.
func wanted(raw []byte, t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number, such as 1.5"
	case reflect.Int, reflect.Int64:
		if len(bytes.Trim(raw, "-0123456789")) == 0 {
			return "a whole number of 64 bits"
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

// shown is the beginning of raw.
func shown(raw []byte) string {
	const most = 40
	if len(raw) <= most {
		return strings.TrimRight(string(raw), " \t\r\n")
	}
	return strings.ToValidUTF8(string(raw[:most]), "") + "..."
}

// fields gives the names of t's fields, in their order.
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

// alsoCalled has what fields are called elsewhere: in the other requests here, and
// in those of other services.
var alsoCalled = map[string][]string{
	"code": {"source"}, "source": {"code"}, "command": {"argv"}, "cmd": {"argv"}, "input": {"stdin"},
	"output": {"expected"}, "answer": {"expected"}, "timeout": {"timeout_seconds", "wall"}, "time_limit": {"timeout_seconds", "wall"}, "memory_limit": {"memory"},
}

// unknownField says what name, which t does not have, was probably meant to be.
func unknownField(name string, value []byte, t reflect.Type) *misfitting {
	m := &misfitting{why: fmt.Sprintf("unknown field %.80q: ", name)}
	known := fields(t)
	for _, other := range alsoCalled[name] {
		if slices.Contains(known, other) {
			m.why += "here it is called " + other
			return m
		}
	}
	if in := holder(name, value, t); in != "" {
		m.why += "it belongs into " + in
		return m
	}
	for _, other := range alsoCalled[name] {
		if in := holder(other, nil, t); in != "" {
			m.why += "here it is called " + in + "." + other
			return m
		}
	}
	for _, other := range known {
		if near(name, other) {
			m.why += "did you mean " + other + "?"
			return m
		}
	}
	m.why += "the fields here are " + strings.Join(known, ", ")
	return m
}

// holder gives the field of t that has a field of its own by that name, which value fits:
// of several the shortest, as limits is before compile_limits.
func holder(name string, value []byte, t reflect.Type) string {
	best := ""
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Kind() != reflect.Struct || best != "" && len(best) <= len(nameOf(f)) {
			continue
		}
		if inner, has := fieldOf(f.Type, name); has && (value == nil || misfit(value, inner) == nil) {
			best = nameOf(f)
		}
	}
	return best
}

// near reports whether one of a and b begins with the other, or a slip of the fingers
// makes b of a: a letter more, less, another, or two in the wrong order.
func near(a, b string) bool {
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
