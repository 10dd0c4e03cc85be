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

// misfit finds where raw does not have the form of t, or returns nil: also for what is
// not JSON. It is for JSON that the decoder has refused, and reads it again in pieces.
func misfit(raw []byte, t reflect.Type) *misfitting {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	raw = bytes.TrimLeft(raw, " \t\r\n")
	own := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
	object := t.Kind() == reflect.Struct || t.Kind() == reflect.Map
	switch {
	case len(raw) == 0:
		return nil
	case own || !object && t.Kind() != reflect.Slice:
		err := json.Unmarshal(raw, reflect.New(t).Interface())
		switch {
		case err == nil:
			return nil
		case own:
			return &misfitting{why: err.Error()}
		}
		return &misfitting{why: fmt.Sprintf("write %s, not %s", wanted(raw, t), shown(raw))}
	case raw[0] == 'n': // null is nothing at all
		return nil
	case object && raw[0] != '{', !object && raw[0] != '[':
		return &misfitting{why: fmt.Sprintf("write %s, not %s", wanted(raw, t), shown(raw))}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil
	}
	var value json.RawMessage
	for i := 0; d.More(); i++ {
		name := fmt.Sprintf("[%d]", i)
		if object {
			key, err := d.Token()
			if err != nil {
				return nil
			}
			name = key.(string)
		}
		if d.Decode(&value) != nil {
			return nil
		}
		inner, known := reflect.Type(nil), true
		if t.Kind() == reflect.Struct {
			if inner, known = fieldOf(t, name); !known {
				return unknownField(name, value, t)
			}
		} else {
			inner = t.Elem()
		}
		if m := misfit(value, inner); m != nil {
			return m.below(fmt.Sprintf("%.80s", name))
		}
	}
	return nil
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
		if inner, has := fieldOf(f.Type, name); has && misfit(value, inner) == nil {
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
