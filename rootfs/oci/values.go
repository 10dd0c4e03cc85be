package oci

import "fmt"

// maxValues is the most values of a document. An index of a hundred platforms has a few thousand.
const maxValues = 50_000

// checkValues refuses a document with so many values that they would take a hundred times its bytes in
// memory: 4 MiB of empty layers are 1.4 million (IMG-41). It counts the commas outside of strings, and
// so does not believe what a document says twice.
func checkValues(text []byte, what string) error {
	n, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && c == ',':
			n++
		}
	}

	if n >= maxValues {
		return fmt.Errorf("%s has %d values: the maximum is %d", what, n+1, maxValues)
	}
	return nil
}
