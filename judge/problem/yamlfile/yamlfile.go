// Package yamlfile reads the YAML files of problem packages key by key, and collects every mistake with
// its line. Formats of packages have keys of several kinds (a text or a list of texts), which decoding
// into a struct does not know.
package yamlfile

import (
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/internal/strictyaml"
	"github.com/brig-sandbox/brig/judge/problem"
)

// A Map is a mapping. The zero Map has no keys.
type Map struct {
	File string
	Line int
	rule string // part of the specification that describes its keys
	into *problem.Findings
	keys []string
	vals map[string]*yaml.Node
	used map[string]bool
}

var lineOf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`line (\d+)`) })

// Read reads a file whose document is a mapping, or empty. rule is the part of the specification that
// describes it.
func Read(file string, text []byte, rule string, into *problem.Findings) Map {
	m := Map{File: file, rule: rule, into: into}
	var doc yaml.Node
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return m
	} else if err != nil {
		line := 0
		if at := lineOf().FindStringSubmatch(err.Error()); at != nil {
			line, _ = strconv.Atoi(at[1])
		}
		into.Error(file, line, rule, "this is not YAML: %v", strictyaml.Plain(err))
		return m
	}

	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		into.Error(file, 0, rule, "it contains more than one document")
	}
	return m.sub(&doc, "the file")
}

// sub is the Map of a node.
func (m Map) sub(n *yaml.Node, what string) Map {
	s := Map{File: m.File, rule: m.rule, into: m.into, vals: map[string]*yaml.Node{}, used: map[string]bool{}}
	if n = resolve(n); n == nil {
		return s
	}

	s.Line = n.Line
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = resolve(n.Content[0])
	}

	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return s
	case n.Kind != yaml.MappingNode:
		m.into.Error(m.File, n.Line, m.rule, "%s must be a mapping (name: value)", what)
		return s
	}

	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if s.vals[key] != nil {
			m.into.Error(m.File, n.Content[i].Line, m.rule, "key %q is given twice", key)
			continue
		}
		s.keys = append(s.keys, key)
		s.vals[key] = n.Content[i+1]
	}

	return s
}

// resolve follows aliases: an alias to itself is nothing.
func resolve(n *yaml.Node) *yaml.Node {
	for range 10 {
		if n == nil || n.Kind != yaml.AliasNode {
			return n
		}
		n = n.Alias
	}
	return nil
}

// Keys are the keys in the order of the file.
func (m Map) Keys() []string { return m.keys }

// Has reports whether there is a value, other than null.
func (m Map) Has(key string) bool {
	n := resolve(m.vals[key])
	return n != nil && n.Tag != "!!null"
}

// LineOf is the line of a key's value; zero if there is none.
func (m Map) LineOf(key string) int {
	if n := m.vals[key]; n != nil {
		return n.Line
	}
	return m.Line
}

// Fail reports a mistake in the value of a key.
func (m Map) Fail(key, format string, args ...any) {
	m.into.Error(m.File, m.LineOf(key), m.rule, format, args...)
}

// value marks a key as known, and returns its value; nil: there is none.
func (m Map) value(key string) *yaml.Node {
	if m.used != nil {
		m.used[key] = true
	}
	if !m.Has(key) {
		return nil
	}
	return resolve(m.vals[key])
}

// Ignore marks keys as known that mean nothing to brig.
func (m Map) Ignore(keys ...string) {
	for _, key := range keys {
		m.value(key)
	}
}

// Unknown returns the keys that nothing has asked for.
func (m Map) Unknown() []string {
	return slices.DeleteFunc(slices.Clone(m.keys), func(key string) bool { return m.used[key] })
}

// Sub is the mapping of a key; empty if there is none.
func (m Map) Sub(key string) Map {
	n := m.value(key)
	if n == nil {
		return Map{File: m.File, rule: m.rule, into: m.into}
	}
	return m.sub(n, key)
}

// Maps are the mappings of a list; ok is false if there is no list.
func (m Map) Maps(key string) (all []Map, ok bool) {
	if !m.IsList(key) {
		return nil, false
	}
	n := m.value(key)
	all = make([]Map, 0, len(n.Content))
	for _, c := range n.Content {
		all = append(all, m.sub(c, "each of "+key))
	}
	return all, true
}

// IsList reports whether the value of a key is a list.
func (m Map) IsList(key string) bool { return m.kind(key) == yaml.SequenceNode }

// IsMap reports whether the value of a key is a mapping.
func (m Map) IsMap(key string) bool { return m.kind(key) == yaml.MappingNode }

func (m Map) kind(key string) yaml.Kind {
	if n := resolve(m.vals[key]); n != nil && n.Tag != "!!null" {
		return n.Kind
	}
	return 0
}

// String is the text of a key; empty if there is none. A number is its text.
func (m Map) String(key string) string {
	n := m.value(key)
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		m.Fail(key, "%s must be a text", key)
		return ""
	}
	return n.Value
}

// Strings are the texts of a list; a single text is a list of one.
func (m Map) Strings(key string) []string {
	n := m.value(key)
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	if n.Kind != yaml.SequenceNode {
		m.Fail(key, "%s must be a list of texts", key)
		return nil
	}

	all := make([]string, 0, len(n.Content))
	for _, c := range n.Content {
		if c = resolve(c); c == nil || c.Kind != yaml.ScalarNode {
			m.Fail(key, "%s must be a list of texts", key)
			return nil
		}
		all = append(all, c.Value)
	}

	return all
}

// Float is the number of a key; ok is false if there is none.
func (m Map) Float(key string) (v float64, ok bool) {
	n := m.value(key)
	if n == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		m.Fail(key, "%s must be a number", key)
		return 0, false
	}
	return v, true
}

// Floats are the numbers of a list, or one number.
func (m Map) Floats(key string) []float64 {
	var all []float64
	for _, text := range m.Strings(key) {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			m.Fail(key, "%s must be a number, or a list of numbers", key)
			return nil
		}
		all = append(all, v)
	}
	return all
}

// Int is the whole number of a key, at least minimum; ok is false if there is none.
func (m Map) Int(key string, minimum int64) (v int64, ok bool) {
	n := m.value(key)
	if n == nil {
		return 0, false
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || err != nil || v < minimum || v > 1<<40 {
		m.Fail(key, "%s must be a whole number, at least %d", key, minimum)
		return 0, false
	}
	return v, true
}

// Bool is the truth value of a key, or standard if there is none.
func (m Map) Bool(key string, standard bool) bool {
	n := m.value(key)
	if n == nil {
		return standard
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		m.Fail(key, "%s must be true or false", key)
		return standard
	}
	return strings.EqualFold(n.Value, "true")
}
