package languages

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// A manifestError is an error in one field of a manifest, and perhaps in one value of that field.
type manifestError struct {
	field, value string
	err          error
}

func (m *manifestError) Error() string { return m.err.Error() }
func (m *manifestError) Unwrap() error { return m.err }

func fieldErrorf(field, format string, args ...any) error {
	return &manifestError{field: field, err: fmt.Errorf(format, args...)}
}

func valueErrorf(field, word, format string, args ...any) error {
	return &manifestError{field: field, value: word, err: fmt.Errorf(format, args...)}
}

// inFile adds the file of a manifest to an error, and the line if it is known.
func inFile(file string, text []byte, err error) error {
	var at *manifestError
	if errors.As(err, &at) && at.line(text) > 0 {
		err = fmt.Errorf("line %d: %w", at.line(text), err)
	}
	return fmt.Errorf("read %s: %w", file, err)
}

// line returns the line of the error in a manifest: that of the value, else of the field, else 0.
func (m *manifestError) line(text []byte) int {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) != 1 {
		return 0
	}

	fields := doc.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i].Value != m.field {
			continue
		}
		for _, n := range fields[i+1].Content {
			if m.value != "" && n.Value == m.value {
				return n.Line
			}
		}
		return fields[i].Line
	}

	return 0
}
