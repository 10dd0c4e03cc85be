package gateway

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/brig-sandbox/brig/api"
)

// forms are what the description has instead of types that write themselves, and of
// types that can be only so much.
var forms = map[reflect.Type]reflect.Type{
	reflect.TypeFor[api.Size]():        reflect.TypeFor[sizeForm](),
	reflect.TypeFor[api.Duration]():    reflect.TypeFor[durationForm](),
	reflect.TypeFor[api.Bytes]():       reflect.TypeFor[bytesForm](),
	reflect.TypeFor[api.FileValue]():   reflect.TypeFor[fileForm](),
	reflect.TypeFor[json.RawMessage](): reflect.TypeFor[anyForm](),

	reflect.TypeFor[api.Verdict]():       reflect.TypeFor[oneOf[api.Verdict]](),
	reflect.TypeFor[api.Stage]():         reflect.TypeFor[oneOf[api.Stage]](),
	reflect.TypeFor[api.Answer]():        reflect.TypeFor[oneOf[api.Answer]](),
	reflect.TypeFor[api.Comparison]():    reflect.TypeFor[oneOf[api.Comparison]](),
	reflect.TypeFor[api.Mode]():          reflect.TypeFor[oneOf[api.Mode]](),
	reflect.TypeFor[api.ProfileMode]():   reflect.TypeFor[oneOf[api.ProfileMode]](),
	reflect.TypeFor[api.State]():         reflect.TypeFor[oneOf[api.State]](),
	reflect.TypeFor[api.SessionState]():  reflect.TypeFor[oneOf[api.SessionState]](),
	reflect.TypeFor[api.FileKind]():      reflect.TypeFor[oneOf[api.FileKind]](),
	reflect.TypeFor[api.Severity]():      reflect.TypeFor[oneOf[api.Severity]](),
	reflect.TypeFor[api.Category]():      reflect.TypeFor[oneOf[api.Category]](),
	reflect.TypeFor[api.AlertKind]():     reflect.TypeFor[oneOf[api.AlertKind]](),
	reflect.TypeFor[api.ServiceStatus](): reflect.TypeFor[oneOf[api.ServiceStatus]](),
	reflect.TypeFor[api.EventName]():     reflect.TypeFor[oneOf[api.EventName]](),
	reflect.TypeFor[api.Code]():          reflect.TypeFor[oneOf[api.Code]](),
	reflect.TypeFor[checkMode]():         reflect.TypeFor[oneOf[checkMode]](),
}

type (
	sizeForm     struct{}
	durationForm struct{}
	bytesForm    struct{}
	fileForm     struct{}
	anyForm      struct{}
)

// oneOf is the form of a type that knows its values.
type oneOf[T interface {
	~string
	Values() []T
}] struct{}

func (oneOf[T]) Schema(huma.Registry) *huma.Schema {
	var none T
	s := &huma.Schema{Type: "string"}
	for _, v := range none.Values() {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

func (sizeForm) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		OneOf:    []*huma.Schema{{Type: "integer", Description: "bytes"}, {Type: "string", Description: "with its unit, such as 256M"}},
		Examples: []any{"256M"},
	}
}

func (durationForm) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Pattern: `^(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`, PatternDescription: "a time with its unit, such as 500ms or 2s", Examples: []any{"2s"}}
}

func (bytesForm) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: "string", Description: "text"},
		{Type: "object", Description: "other bytes", AdditionalProperties: false, Required: []string{"base64"}, Properties: map[string]*huma.Schema{
			"base64": {Type: "string", Description: "the bytes, in base64"},
		}},
	}}
}

func (fileForm) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: "string", Description: "text"},
		{Type: "object", Description: "other bytes", Required: []string{"content"}, Properties: map[string]*huma.Schema{
			"content":  {Type: "string", Description: "the bytes as encoding says"},
			"encoding": {Type: "string", Description: "absent or utf-8: content is text", Enum: []any{"base64", "utf-8"}},
		}},
	}}
}

func (anyForm) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// eventStream is the content type of server-sent events.
const eventStream = "text/event-stream"

// A sentEvent is one of a stream, as the description has it.
type sentEvent struct {
	ID    int64           `json:"id" doc:"its number, from 1"`
	Event api.EventName   `json:"event" doc:"what it tells"`
	Data  json.RawMessage `json:"data" doc:"JSON in one line: of queued a Status, of compiled a Compilation, of usage a LiveUsage, of test a TestResult, of stdout and stderr an object with the bytes in data, of gap one with the number of events_lost, of result a Result, of error a Problem"`
}

// eventsIn describes a stream, as the package sse of huma does: each item is an event,
// and its fields are the lines.
func eventsIn(types huma.Registry) *huma.MediaType {
	return &huma.MediaType{Schema: &huma.Schema{
		Title: "Server Sent Events", Type: "array", Description: "each item is an event, and its fields are lines of it",
		Items: types.Schema(reflect.TypeFor[sentEvent](), true, ""),
	}}
}

// inPath says what the parameters of paths are.
func inPath(name, group string) string {
	switch name {
	case "id":
		return map[string]string{"Runs": "id of the run", "Sessions": "id of the session"}[group]
	case "digest":
		return "sha256 of the blob, in hex"
	case "name":
		return "name of the file, relative to /box or, with volume=true, to /workspace; it may have slashes"
	case "project":
		return "project whose volume it is"
	}
	return ""
}
