package fastapi

import (
	"bytes"
	"encoding/json"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// A Field is a field of a model.
type Field struct {
	Name     string
	Required bool
	Nullable bool // null is as if it were absent

	Read func(raw json.RawMessage) *Fault
}

// ReadModel reads the fields of an object in their order, and notes all faults, as the originals do. It returns the
// number of fields that the model does not have.
func ReadModel(raw json.RawMessage, fields []Field, note func(Fault), loc ...any) (unknown int) {
	if raw[0] != '{' {
		note(FaultOf("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", raw, loc...))
		return 0
	}
	all, f := ReadObject(raw, loc...)
	if f != nil {
		note(*f)
		return 0
	}

	known := 0
	for _, field := range fields {
		value, given := all[field.Name]
		if given {
			known++
		}
		switch {
		case given && field.Nullable && string(value) == "null":
		case given:
			if f := field.Read(value); f != nil {
				note(*f)
			}
		case field.Required:
			note(FaultOf("missing", "Field required", raw, append(append([]any(nil), loc...), field.Name)...))
		}
	}
	return len(all) - known
}

// ReadBody reads a body that has to be the object of a model.
func ReadBody(body []byte, fields []Field, note func(Fault)) (unknown int) {
	if len(bytes.TrimSpace(body)) == 0 {
		note(FaultOf("missing", "Field required", nil))
		return 0
	}
	var top json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		note(NotJSON(err))
		return 0
	}
	return ReadModel(bytes.TrimLeft(top, " \t\r\n"), fields, note)
}

// Respond makes a response of JSON.
func Respond(status int, v any) dialect.Response { return dialect.JSON(status, "application/json", v) }

// Error makes a response that tells an error: a text, or the faults of fields.
func Error(status int, detail any) dialect.Response {
	return Respond(status, struct {
		Detail any `json:"detail"`
	}{detail})
}

// Fail tells a failure or refusal of a whole request. detail is what it says of one that names fields.
func Fail(p *api.Problem, word dialect.Word, detail string) dialect.Response {
	switch {
	case p.Status == 405:
		return Error(405, "Method Not Allowed")
	case word.Status == 404:
		return Error(404, "Not Found")
	case word.Status == 422:
		return Error(422, []Fault{{Type: "value_error", Loc: []any{"body"}, Msg: "Value error, " + detail}})
	}
	return Error(word.Status, p.Detail)
}

// NotText is the answer to a body that is not UTF-8.
func NotText() dialect.Plan {
	return dialect.Refuse(Error(400, "There was an error parsing the body"))
}
