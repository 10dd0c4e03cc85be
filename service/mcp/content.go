package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/brig-sandbox/brig/api"
)

// A Content is the content of a file in arguments: text, or an object with base64.
type Content []byte

// UnmarshalJSON reads a string, or an object whose only member is base64.
func (c *Content) UnmarshalJSON(text []byte) error {
	var plain *string
	if json.Unmarshal(text, &plain) == nil && plain != nil {
		*c = Content(*plain)
		return nil
	}

	var encoded struct {
		Base64 *string `json:"base64"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&encoded); err != nil || encoded.Base64 == nil {
		return api.Refuse(api.CodeBadRequest, `content: write a string, or an object such as {"base64": "AAEC"}`)
	}

	raw, err := base64.StdEncoding.DecodeString(*encoded.Base64)
	if err != nil {
		return api.Refuse(api.CodeBadRequest, "content: base64: %w", err)
	}
	*c = raw
	return nil
}

// A Command is the command of run_command: words, or a line for sh.
type Command []string

// UnmarshalJSON reads a list of strings, or a string.
func (c *Command) UnmarshalJSON(text []byte) error {
	var line *string
	if json.Unmarshal(text, &line) == nil && line != nil {
		*c = Command{"sh", "-c", *line}
		return nil
	}

	var words []string
	if json.Unmarshal(text, &words) != nil || len(words) == 0 {
		return api.Refuse(api.CodeBadRequest, `command: write a line for sh, or a list of words such as ["ls", "-l"]`)
	}
	*c = words
	return nil
}

// unions are the schemas of arguments that have one of two forms.
var unions = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[Content](): {AnyOf: []*jsonschema.Schema{
		{Type: "string"},
		{Type: "object", Properties: map[string]*jsonschema.Schema{"base64": {Type: "string"}},
			Required: []string{"base64"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}},
	}},
	reflect.TypeFor[Command](): {AnyOf: []*jsonschema.Schema{
		{Type: "string"}, {Type: "array", Items: &jsonschema.Schema{Type: "string"}, MinItems: new(1)},
	}},
}

// inputOf derives the schema of arguments, when it is first needed: most commands of brig need none. The types are this
// package's, so an error is a mistake in it.
func inputOf[In any]() func() *jsonschema.Schema {
	return sync.OnceValue(func() *jsonschema.Schema {
		s, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: unions})
		if err != nil {
			panic(err)
		}
		return s
	})
}

// validText returns content as text, with U+FFFD for each run of bytes that are none.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
