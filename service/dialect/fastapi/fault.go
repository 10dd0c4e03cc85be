// Package fastapi reads bodies and writes faults as programs do that are made with FastAPI and pydantic: their clients
// know its words.
package fastapi

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Fault is an error of a field, as pydantic reports it. Its JSON has its fields in this order.
type Fault struct {
	Type  string          `json:"type"`
	Loc   []any           `json:"loc"` // names of fields and numbers of elements, from "body" on
	Msg   string          `json:"msg"`
	Input json.RawMessage `json:"input"`
	Ctx   map[string]any  `json:"ctx,omitempty"`
	URL   string          `json:"url,omitempty"`
}

// maxInput bounds what a fault repeats of the request.
const maxInput = 4 << 10

// FaultOf makes a fault of a kind that pydantic has a page about.
func FaultOf(kind, msg string, input json.RawMessage, loc ...any) Fault {
	if len(input) > maxInput {
		input = nil
	}
	return Fault{Type: kind, Loc: append([]any{"body"}, loc...), Msg: msg, Input: input,
		URL: "https://errors.pydantic.dev/2.6/v/" + kind}
}

// Refused is a fault that the original would not find: brig does not offer what the value asks for.
func Refused(why string, input json.RawMessage, loc ...any) Fault {
	return FaultOf("value_error", "Value error, "+why, input, loc...)
}

// Literal is a fault about a value that is not one of those allowed.
func Literal(input json.RawMessage, allowed []string, loc ...any) Fault {
	quoted := make([]string, 0, len(allowed))
	for _, a := range allowed {
		quoted = append(quoted, "'"+a+"'")
	}

	expected := strings.Join(quoted, ", ")
	if n := len(quoted); n > 1 {
		expected = strings.Join(quoted[:n-1], ", ") + " or " + quoted[n-1]
	}

	f := FaultOf("literal_error", "Input should be "+expected, input, loc...)
	f.Ctx = map[string]any{"expected": expected}
	return f
}

// ReadText reads a text.
func ReadText(raw json.RawMessage, loc ...any) (s string, bad *Fault) {
	if raw[0] != '"' {
		f := FaultOf("string_type", "Input should be a valid string", raw, loc...)
		return "", &f
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		f := FaultOf("string_type", "Input should be a valid string", nil, loc...)
		return "", &f
	}
	return s, nil
}

// ReadNumber reads a number, or what pydantic takes in place of one: a number in a text, true and false.
func ReadNumber(raw json.RawMessage, loc ...any) (float64, *Fault) {
	text := string(raw)
	switch raw[0] {
	case 't':
		return 1, nil
	case 'f':
		return 0, nil
	case '"':
		inner, _ := ReadText(raw)
		if v, err := strconv.ParseFloat(strings.TrimSpace(inner), 64); err == nil && !math.IsNaN(v) {
			return v, nil
		}
		f := FaultOf("float_parsing", "Input should be a valid number, unable to parse string as a number", raw, loc...)
		return 0, &f
	case 'n', '{', '[':
		f := FaultOf("float_type", "Input should be a valid number", raw, loc...)
		return 0, &f
	}

	v, _ := strconv.ParseFloat(text, 64) // out of range: infinite
	return v, nil
}

// ReadInteger reads an integer, or what pydantic takes in place of one. It is at least -1, and at most 1<<52.
func ReadInteger(raw json.RawMessage, loc ...any) (int64, *Fault) {
	if raw[0] == '"' {
		inner, _ := ReadText(raw)
		if v, err := strconv.ParseInt(strings.TrimSpace(inner), 10, 64); err == nil {
			return v, nil
		}
		f := FaultOf("int_parsing", "Input should be a valid integer, unable to parse string as an integer", raw, loc...)
		return 0, &f
	}

	v, bad := ReadNumber(raw, loc...)
	switch {
	case bad != nil:
		f := FaultOf("int_type", "Input should be a valid integer", raw, loc...)
		return 0, &f
	case v != math.Trunc(v):
		f := FaultOf("int_from_float", "Input should be a valid integer, got a number with a fractional part", raw, loc...)
		return 0, &f
	}
	return int64(min(max(v, -1), 1<<52)), nil
}

// ReadObject reads an object.
func ReadObject(raw json.RawMessage, loc ...any) (m map[string]json.RawMessage, bad *Fault) {
	if raw[0] != '{' || json.Unmarshal(raw, &m) != nil {
		f := FaultOf("dict_type", "Input should be a valid dictionary", raw, loc...)
		return nil, &f
	}
	return m, nil
}

// ReadBool reads true or false, or what pydantic takes in place of them.
func ReadBool(raw json.RawMessage, loc ...any) (bool, *Fault) {
	text := string(raw)
	if raw[0] == '"' {
		text, _ = ReadText(raw)
	}
	switch strings.ToLower(text) {
	case "true", "1", "yes", "y", "on", "t", "1.0":
		return true, nil
	case "false", "0", "no", "n", "off", "f", "0.0":
		return false, nil
	}
	f := FaultOf("bool_type", "Input should be a valid boolean", raw, loc...)
	return false, &f
}

// ReadList reads a list.
func ReadList(raw json.RawMessage, loc ...any) (l []json.RawMessage, bad *Fault) {
	if raw[0] != '[' || json.Unmarshal(raw, &l) != nil {
		f := FaultOf("list_type", "Input should be a valid list", raw, loc...)
		return nil, &f
	}
	return l, nil
}

// NotJSON is the fault of a body that is no JSON.
func NotJSON(err error) Fault {
	at := int64(0)
	if syntax, is := err.(*json.SyntaxError); is { //nolint:errorlint // json returns it as it is
		at = max(syntax.Offset-1, 0)
	}
	f := FaultOf("json_invalid", "JSON decode error", json.RawMessage("{}"), at)
	f.Ctx, f.URL = map[string]any{"error": fmt.Sprint(err)}, ""
	return f
}
