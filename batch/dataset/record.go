package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A record is one object of a data set. A field that is null is absent.
type record map[string]json.RawMessage

// parseRecord reads the text of a JSON object.
func parseRecord(text []byte) (record, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("expected UTF-8")
	}
	var r record
	if err := decodeJSON(text, &r); err != nil {
		return nil, err
	}
	if r == nil {
		return nil, errors.New("expected a JSON object, found null")
	}
	return r, nil
}

// decodeJSON is json.Unmarshal with errors in the words of the file.
func decodeJSON(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		field := ""
		if wrong.Field != "" {
			field = wrong.Field + ": "
		}
		found, _, _ := strings.Cut(wrong.Value, " ") // a number has its digits after it
		return fmt.Errorf("%sexpected %s, found %s", field, kindOf(wrong.Type.Kind().String()), kindOf(found))
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON: byte %d: %s", syntax.Offset, strings.TrimPrefix(syntax.Error(), "json: "))
	}

	return err
}

// kindOf names a kind of Go or of JSON.
func kindOf(kind string) string {
	switch kind {
	case "string":
		return "text"
	case "map", "struct", "object":
		return "an object"
	case "slice", "array":
		return "an array"
	case "bool":
		return "true or false"
	}
	return "a number"
}

func (r record) has(key string) bool {
	v := bytes.TrimSpace(r[key])
	return len(v) > 0 && !bytes.Equal(v, []byte("null"))
}

// first returns the first of several names of a field that is there; empty if there is none.
func (r record) first(keys ...string) string {
	for _, k := range keys {
		if r.has(k) {
			return k
		}
	}
	return ""
}

// field decodes a field. It is the zero value if there is none.
func field[T any](r record, key string) (v T, err error) {
	if !r.has(key) {
		return v, nil
	}
	if err := decodeJSON(r[key], &v); err != nil {
		return v, fmt.Errorf("%s: %w", key, err)
	}
	return v, nil
}

// needed is field for a field that must be there.
func needed[T any](r record, key string) (v T, err error) {
	if !r.has(key) {
		return v, missingField(key)
	}
	return field[T](r, key)
}

// missingField is the error of a field that must be there.
type missingField string

func (m missingField) Error() string { return "there is no " + string(m) }

// nested decodes a field that is JSON, or text that contains JSON.
func nested[T any](r record, key string) (v T, err error) {
	raw := bytes.TrimSpace(r[key])
	if len(raw) > 0 && raw[0] == '"' {
		text, err := field[string](r, key)
		if err != nil {
			return v, err
		}
		raw = []byte(text)
	}
	return needed[T](record{key: raw}, key)
}

// name returns the first of several fields as a text; a number is written as in JSON.
func (r record) name(keys ...string) (string, error) {
	key := r.first(keys...)
	if key == "" {
		return "", nil
	}
	raw := bytes.TrimSpace(r[key])
	switch c := raw[0]; {
	case c == '-' || c >= '0' && c <= '9':
		return string(raw), nil
	case c != '"':
		return "", fmt.Errorf("%s: expected text or a number", key)
	}
	return field[string](r, key)
}

// texts is a text, or an array of lines.
type texts string

// UnmarshalJSON reads both forms.
func (t *texts) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		var all []string
		if err := decodeJSON(raw, &all); err != nil {
			return err
		}
		*t = texts(strings.Join(all, "\n"))
		return nil
	}
	return decodeJSON(raw, (*string)(t))
}
