// Package openapitest holds answers of the service against its OpenAPI description.
package openapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Document is a description.
type Document struct{ paths []described }

type described struct {
	template string
	match    *regexp.Regexp
	literal  int // characters that are no parameter's
	ops      map[string]operation
}

type operation struct {
	Responses map[string]json.RawMessage `json:"responses"`
}

var param = regexp.MustCompile(`\\\{(\w+)\\\}`)

// Parse reads a description.
func Parse(text []byte) (*Document, error) {
	var raw struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	d := new(Document)
	for _, template := range slices.Sorted(maps.Keys(raw.Paths)) {
		quoted := regexp.QuoteMeta(template)
		pattern := param.ReplaceAllStringFunc(quoted, func(p string) string {
			if p == `\{name\}` { // of a file: it may have slashes
				return ".+"
			}
			return "[^/]+"
		})
		match, err := regexp.Compile("^" + pattern + "$")
		if err != nil {
			return nil, err
		}
		d.paths = append(d.paths, described{template, match, len(param.ReplaceAllString(quoted, "")), raw.Paths[template]})
	}
	return d, nil
}

// Answers says what is wrong with a status as the answer of a request; nil where it is
// described, or nothing of that method and path is.
func (d *Document) Answers(method, path string, status int) error {
	path, _, _ = strings.Cut(path, "?")
	var best *described
	for i, p := range d.paths {
		if p.match.MatchString(path) && p.ops[strings.ToLower(method)].Responses != nil && (best == nil || p.literal > best.literal) {
			best = &d.paths[i]
		}
	}
	if best == nil {
		return nil
	}
	have := best.ops[strings.ToLower(method)].Responses
	if have[strconv.Itoa(status)] == nil {
		return fmt.Errorf("%s %s answered %d, and its description has only %v", method, best.template, status, slices.Sorted(maps.Keys(have)))
	}
	return nil
}
