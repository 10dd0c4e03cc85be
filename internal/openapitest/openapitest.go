// Package openapitest checks answers of the service against its OpenAPI description.
package openapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// A Document is a parsed OpenAPI description.
type Document struct {
	paths   []pathItem
	schemas schemas
}

type pathItem struct {
	template string
	match    *regexp.Regexp
	literal  int // number of characters outside parameters
	ops      map[string]operation
}

type operation struct {
	Responses map[string]response `json:"responses"`
}

type response struct {
	Content map[string]struct{ Schema json.RawMessage }
}

var param = regexp.MustCompile(`\\\{(\w+)\\\}`)

// Parse reads a description.
func Parse(text []byte) (*Document, error) {
	var raw struct {
		Paths      map[string]map[string]operation `json:"paths"`
		Components struct{ Schemas map[string]json.RawMessage }
	}

	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}

	d := &Document{schemas: schemas{of: map[string]*huma.Schema{}}}
	for name, text := range raw.Components.Schemas {
		s, err := schemaOf(text)
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		d.schemas.of[refPrefix+name] = s
	}

	for _, template := range slices.Sorted(maps.Keys(raw.Paths)) {
		quoted := regexp.QuoteMeta(template)
		pattern := param.ReplaceAllStringFunc(quoted, func(p string) string {
			if p == `\{name\}` { // name of a file: it may contain slashes
				return ".+"
			}
			return "[^/]+"
		})
		match, err := regexp.Compile("^" + pattern + "$")
		if err != nil {
			return nil, err
		}
		d.paths = append(d.paths, pathItem{template, match, len(param.ReplaceAllString(quoted, "")), raw.Paths[template]})
	}

	return d, nil
}

// operation finds the description of a request; nil if there is none.
func (d *Document) operation(method, path string) (template string, o *operation) {
	path, _, _ = strings.Cut(path, "?")
	literal := -1
	for _, p := range d.paths {
		if op := p.ops[strings.ToLower(method)]; p.match.MatchString(path) && op.Responses != nil && p.literal > literal {
			template, o, literal = p.template, &op, p.literal
		}
	}
	return template, o
}

// CheckStatus returns an error if status is not a described answer of the request. It returns
// nil if that method and path are not described at all.
func (d *Document) CheckStatus(method, path string, status int) error {
	template, op := d.operation(method, path)
	if op == nil {
		return nil
	}
	if _, has := op.Responses[strconv.Itoa(status)]; !has {
		return fmt.Errorf("%s %s answered %d, and its description has only %v", method, template, status,
			slices.Sorted(maps.Keys(op.Responses)))
	}
	return nil
}

// CheckBody checks a whole answer: its status and content type must be described, and if that is
// JSON, the body must match its schema.
func (d *Document) CheckBody(method, path string, status int, kind string, body []byte) error {
	if err := d.CheckStatus(method, path, status); err != nil {
		return err
	}

	template, op := d.operation(method, path)
	if op == nil || len(body) == 0 {
		return nil
	}

	what := fmt.Sprintf("%s %s answered %d", method, template, status)
	kind, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}

	content, has := op.Responses[strconv.Itoa(status)].Content[kind]
	if !has {
		return fmt.Errorf("%s with %s, which is not described", what, kind)
	}
	if kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil
	}

	s, err := schemaOf(content.Schema)
	if err != nil {
		return fmt.Errorf("%s: its schema: %w", what, err)
	}
	if err := d.schemas.validate(s, body); err != nil {
		return fmt.Errorf("%s, and its schema says: %w\n%.400s", what, err, body)
	}
	return nil
}
