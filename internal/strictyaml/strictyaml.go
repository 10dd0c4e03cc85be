// Package strictyaml decodes YAML that a person wrote and refuses what is probably a mistake.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

var goType = regexp.MustCompile(` in type [\w.]+`)

// Decode decodes the one document in text. It refuses unknown and repeated fields, and a second
// document. Errors name file and the line.
func Decode(file string, text []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		var wrong *yaml.TypeError
		switch {
		case errors.Is(err, io.EOF):
			err = errors.New("it is empty")
		case errors.As(err, &wrong): // users need not see the names of Go types
			err = errors.New(goType.ReplaceAllString(strings.Join(wrong.Errors, "; "), ""))
		}
		return fmt.Errorf("read %s: %w", file, err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: it contains more than one document", file)
	}
	return nil
}
