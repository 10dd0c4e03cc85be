package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
)

const refPrefix = "#/components/schemas/"

// schemas are the named schemas of a description, as the registry that huma's validator
// requires.
type schemas struct {
	huma.Registry // nil: the validator only follows references
	of            map[string]*huma.Schema
}

func (s schemas) SchemaFromRef(ref string) *huma.Schema { return s.of[ref] }

// validate returns an error that says where a JSON text violates a schema.
func (s schemas) validate(want *huma.Schema, text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	var res huma.ValidateResult
	huma.Validate(s, want, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, &res)
	return errors.Join(res.Errors...)
}

// schemaOf parses a schema of a description: huma can only write them. An unknown keyword
// is an error, so that none goes untested.
func schemaOf(text json.RawMessage) (*huma.Schema, error) {
	var raw struct {
		Type, Default, Title, Description, PatternDescription any
		Ref                                                   string `json:"$ref"`
		Format, ContentEncoding, ContentMediaType, Pattern    string
		Examples, Enum                                        []any
		Required                                              []string
		Minimum                                               *float64
		Items, AdditionalProperties                           json.RawMessage
		Properties                                            map[string]json.RawMessage
		OneOf                                                 []json.RawMessage
	}

	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}

	s := &huma.Schema{Ref: raw.Ref, Format: raw.Format, ContentEncoding: raw.ContentEncoding, Pattern: raw.Pattern,
		Enum: raw.Enum, Required: raw.Required, Minimum: raw.Minimum}
	switch t := raw.Type.(type) {
	case string:
		s.Type = t
	case []any: // a type and null
		s.Type, s.Nullable = t[0].(string), true
	}

	var err error
	if s.Items, err = inner(raw.Items); err != nil {
		return nil, err
	}

	switch string(raw.AdditionalProperties) {
	case "", "true":
	case "false":
		s.AdditionalProperties = false
	default:
		if s.AdditionalProperties, err = inner(raw.AdditionalProperties); err != nil {
			return nil, err
		}
	}

	for name, text := range raw.Properties {
		if s.Properties == nil {
			s.Properties = map[string]*huma.Schema{}
		}
		if s.Properties[name], err = schemaOf(text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}

	for _, text := range raw.OneOf {
		one, err := schemaOf(text)
		if err != nil {
			return nil, err
		}
		s.OneOf = append(s.OneOf, one)
	}

	s.PrecomputeMessages()
	return s, nil
}

func inner(text json.RawMessage) (*huma.Schema, error) {
	if text == nil {
		return nil, nil
	}
	return schemaOf(text)
}
