package decode

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// explain says in which field JSON does not have the form of t, and what to write there. It is for
// people who know the names of fields but not Go's types.
func explain(raw []byte, err error, t reflect.Type) error {
	var form *json.SemanticError
	if !errors.As(err, &form) || form.GoType == nil {
		return err
	}

	at, value := form.JSONPointer, valueAt(raw[form.ByteOffset:])
	var reason string
	switch {
	case errors.Is(err, json.ErrUnknownName): // value is the name
		reason = unknownField(at.LastToken(), valueAt(raw[int(form.ByteOffset)+len(value):]), form.GoType)
		at = at.Parent()
	case decodesItself(form.GoType):
		reason = form.Err.Error()
	default:
		reason = fmt.Sprintf("write %s, not %s", expectedForm(value, form.GoType), abbreviated(value))
	}

	if at == "" {
		return errors.New(reason)
	}
	return fmt.Errorf("%s: %s", pathOf(at, t), reason)
}

// pathOf writes a pointer into JSON of the form t as people do, such as tests[0].limits.wall.
func pathOf(at jsontext.Pointer, t reflect.Type) string {
	var path strings.Builder
	for name := range at.Tokens() {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}

		if t.Kind() == reflect.Slice {
			path.WriteString("[" + name + "]")
			t = t.Elem()
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}

		fmt.Fprintf(&path, "%.80s", name)
		if t.Kind() == reflect.Map {
			t = t.Elem()
		} else {
			t, _ = fieldOf(t, name)
		}
	}

	return path.String()
}

func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// valueAt returns the first value in raw, which begins before or at the value.
func valueAt(raw []byte) []byte {
	value, _ := jsontext.NewDecoder(bytes.NewBuffer(bytes.TrimLeft(raw, blank+":,"))).ReadValue()
	return value
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
			return fmt.Sprintf("a list such as [{%q: ...}]", nameOf(members(of)[0]))
		}
		return `a list such as ["a", "b"]`
	}

	return "an object in { }"
}

// abbreviated returns the beginning of raw.
func abbreviated(raw []byte) string {
	const maximum = 40
	if len(raw) <= maximum {
		return strings.TrimRight(string(raw), blank)
	}
	return strings.ToValidUTF8(string(raw[:maximum]), "") + "..."
}

// fields returns the names of t's fields, in their order.
func fields(t reflect.Type) []string {
	var names []string
	for _, f := range members(t) {
		names = append(names, nameOf(f))
	}
	return names
}

// members returns the fields of t, with those of a struct in it that has no name of its own in place of
// that.
func members(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for _, f := range members(t) {
		if nameOf(f) == name {
			return f.Type, true
		}
	}
	return nil, false
}

// fieldAliases maps names that other requests and other services use to the names of fields here.
var fieldAliases = map[string][]string{
	"code": {"source"}, "source": {"code"}, "command": {"argv"}, "cmd": {"argv"}, "input": {"stdin"},
	"output": {"expected"}, "answer": {"expected"}, "timeout": {"timeout_seconds", "wall"},
	"time_limit": {"timeout_seconds", "wall"}, "memory_limit": {"memory"},
}

// unknownField suggests what name, which t does not have, was probably meant to be.
func unknownField(name string, value []byte, t reflect.Type) string {
	reason := fmt.Sprintf("unknown field %.80q: ", name)
	known := fields(t)
	for _, other := range fieldAliases[name] {
		if slices.Contains(known, other) {
			reason += "here it is called " + other
			return reason
		}
	}

	if in := parentField(name, value, t); in != "" {
		reason += "put it into " + in
		return reason
	}

	for _, other := range fieldAliases[name] {
		if in := parentField(other, nil, t); in != "" {
			reason += "here it is called " + in + "." + other
			return reason
		}
	}

	for _, other := range known {
		if similar(name, other) {
			reason += "did you mean " + other + "?"
			return reason
		}
	}

	reason += "the fields here are " + strings.Join(known, ", ")
	return reason
}

// parentField returns the field of t whose type has a field with that name that value fits. Of several
// it takes the one with the shortest name, for example limits and not compile_limits.
func parentField(name string, value []byte, t reflect.Type) string {
	best := ""
	for _, f := range members(t) {
		if f.Type.Kind() != reflect.Struct || best != "" && len(best) <= len(nameOf(f)) {
			continue
		}
		if inner, has := fieldOf(f.Type, name); has &&
			(value == nil || json.Unmarshal(value, reflect.New(inner).Interface(), json.RejectUnknownMembers(true)) == nil) {
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
