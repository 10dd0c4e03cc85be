// Package strictyaml decodes YAML that a person wrote and refuses what is probably a mistake.
package strictyaml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Decode decodes the one document in text. It refuses unknown and repeated fields, and a second
// document. Errors name file and the line.
func Decode(file string, text []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return fmt.Errorf("read %s: %w", file, Plain(err))
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: it contains more than one document", file)
	}
	return nil
}

var (
	inType   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` in type [\w.\[\]*{}]+`) })
	mismatch = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("cannot unmarshal !!(\\w+)(?: (`.*`))? into (.+)")
	})
)

// Plain returns an error of the YAML library in the words of the file: "a list where text is
// needed". It has no Go type and no tag of YAML. Other errors are returned as they are.
func Plain(err error) error {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return err
	}

	var all []string
	for _, text := range wrong.Errors {
		line, what, placed := strings.Cut(text, ": ")
		if m := mismatch().FindStringSubmatch(what); placed && m != nil {
			text = fmt.Sprintf("%s: %s where %s is needed", line, found(m[1], m[2]), needed(m[3]))
		}
		all = append(all, inType().ReplaceAllString(text, ""))
	}

	return errors.New(strings.Join(all, "; "))
}

// found says what the file has, from the tag of YAML and the quoted value.
func found(tag, value string) string {
	switch tag {
	case "seq":
		return "a list"
	case "map":
		return "a mapping (name: value)"
	}
	return cmp.Or(value, "nothing")
}

// needed says what a field of a Go type takes.
func needed(typ string) string {
	switch typ = strings.TrimLeft(typ, "*"); {
	case strings.HasPrefix(typ, "[]"):
		return "a list"
	case typ == "string":
		return "text"
	case typ == "bool":
		return "true or false"
	case strings.HasPrefix(typ, "uint"):
		return "a whole number, not negative,"
	case strings.HasPrefix(typ, "int"):
		return "a whole number"
	case strings.HasPrefix(typ, "float"):
		return "a number"
	}

	return "a mapping (name: value)"
}
