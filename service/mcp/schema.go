package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

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

// A schema is what the SDK tells clients, and what arguments are checked with.
type schema struct {
	text  json.RawMessage // of a value the SDK would make the text again with each call
	rules *jsonschema.Resolved
}

// inputOf derives the schema of arguments.
func inputOf[In any]() schema { return schemaOf[In](unions) }

// outputOf derives the schema of an answer. Answers are not checked with it at each call: their types are this package's
// (TestAnswersFitTheirSchemas).
func outputOf[Out any]() schema { return schemaOf[Out](nil) }

// schemaOf derives the schema of a type of this package, so that an error is a mistake in it.
func schemaOf[T any](special map[reflect.Type]*jsonschema.Schema) schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: special})
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	rules, err := s.Resolve(nil)
	if err != nil {
		panic(err)
	}
	return schema{text, rules}
}

// decodeArguments checks the arguments of a call, and decodes them. The SDK's own tools do so with a decoder that makes a
// buffer of 32 KiB for each value, three times a call.
func decodeArguments[In any](s schema, text json.RawMessage) (in In, err error) {
	if len(text) == 0 {
		text = json.RawMessage("{}")
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		return in, fmt.Errorf("validating \"arguments\": unmarshaling arguments: %w", err)
	}
	if whole == nil { // null
		whole, text = map[string]any{}, json.RawMessage("{}")
	}
	// The schema names each field, so that a name with other capitals is refused before encoding/json would take it.
	if err := s.rules.Validate(whole); err != nil {
		return in, fmt.Errorf("validating \"arguments\": %w", err)
	}
	return in, json.Unmarshal(text, &in)
}
