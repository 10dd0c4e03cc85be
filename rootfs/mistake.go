package rootfs

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// A mistake is what is wrong with one field of a manifest, and perhaps with one
// word of it.
type mistake struct {
	field, word string
	err         error
}

func (m *mistake) Error() string { return m.err.Error() }
func (m *mistake) Unwrap() error { return m.err }

func wrong(field, format string, args ...any) error {
	return &mistake{field: field, err: fmt.Errorf(format, args...)}
}

func wrongWord(field, word, format string, args ...any) error {
	return &mistake{field: field, word: word, err: fmt.Errorf(format, args...)}
}

// line finds where in a manifest the mistake is: the word's line, else the
// field's, else none.
func (m *mistake) line(text []byte) int {
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
			if m.word != "" && n.Value == m.word {
				return n.Line
			}
		}
		return fields[i].Line
	}
	return 0
}
