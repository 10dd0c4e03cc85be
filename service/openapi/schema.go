package openapi

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/brig-sandbox/brig/api"
)

// SchemaTypes maps types to the types that describe their schema: types with their own JSON encoding, and
// types with a fixed set of values.
var SchemaTypes = map[reflect.Type]reflect.Type{
	reflect.TypeFor[api.Size]():        reflect.TypeFor[sizeSchema](),
	reflect.TypeFor[api.Duration]():    reflect.TypeFor[durationSchema](),
	reflect.TypeFor[api.Bytes]():       reflect.TypeFor[bytesSchema](),
	reflect.TypeFor[api.FileValue]():   reflect.TypeFor[fileSchema](),
	reflect.TypeFor[json.RawMessage](): reflect.TypeFor[anySchema](),

	reflect.TypeFor[api.Verdict]():        reflect.TypeFor[OneOf[api.Verdict]](),
	reflect.TypeFor[api.Stage]():          reflect.TypeFor[OneOf[api.Stage]](),
	reflect.TypeFor[api.Answer]():         reflect.TypeFor[OneOf[api.Answer]](),
	reflect.TypeFor[api.Protocol]():       reflect.TypeFor[OneOf[api.Protocol]](),
	reflect.TypeFor[api.ReportFormat]():   reflect.TypeFor[OneOf[api.ReportFormat]](),
	reflect.TypeFor[api.PointsAs]():       reflect.TypeFor[OneOf[api.PointsAs]](),
	reflect.TypeFor[api.LinkShow]():       reflect.TypeFor[OneOf[api.LinkShow]](),
	reflect.TypeFor[api.ProgramIO]():      reflect.TypeFor[OneOf[api.ProgramIO]](),
	reflect.TypeFor[api.First]():          reflect.TypeFor[OneOf[api.First]](),
	reflect.TypeFor[api.Aggregation]():    reflect.TypeFor[OneOf[api.Aggregation]](),
	reflect.TypeFor[api.GroupPass]():      reflect.TypeFor[OneOf[api.GroupPass]](),
	reflect.TypeFor[api.Comparison]():     reflect.TypeFor[OneOf[api.Comparison]](),
	reflect.TypeFor[api.Mode]():           reflect.TypeFor[OneOf[api.Mode]](),
	reflect.TypeFor[api.ProfileMode]():    reflect.TypeFor[OneOf[api.ProfileMode]](),
	reflect.TypeFor[api.State]():          reflect.TypeFor[OneOf[api.State]](),
	reflect.TypeFor[api.BatchState]():     reflect.TypeFor[OneOf[api.BatchState]](),
	reflect.TypeFor[api.RejudgeState]():   reflect.TypeFor[OneOf[api.RejudgeState]](),
	reflect.TypeFor[api.BatchKeep]():      reflect.TypeFor[OneOf[api.BatchKeep]](),
	reflect.TypeFor[api.JobStatus]():      reflect.TypeFor[OneOf[api.JobStatus]](),
	reflect.TypeFor[api.SessionState]():   reflect.TypeFor[OneOf[api.SessionState]](),
	reflect.TypeFor[api.PackageKind]():    reflect.TypeFor[OneOf[api.PackageKind]](),
	reflect.TypeFor[api.FileKind]():       reflect.TypeFor[OneOf[api.FileKind]](),
	reflect.TypeFor[api.ChangeKind]():     reflect.TypeFor[OneOf[api.ChangeKind]](),
	reflect.TypeFor[api.Severity]():       reflect.TypeFor[OneOf[api.Severity]](),
	reflect.TypeFor[api.Category]():       reflect.TypeFor[OneOf[api.Category]](),
	reflect.TypeFor[api.AlertKind]():      reflect.TypeFor[OneOf[api.AlertKind]](),
	reflect.TypeFor[api.ServiceStatus]():  reflect.TypeFor[OneOf[api.ServiceStatus]](),
	reflect.TypeFor[api.ProcessStdin]():   reflect.TypeFor[OneOf[api.ProcessStdin]](),
	reflect.TypeFor[api.ProcessState]():   reflect.TypeFor[OneOf[api.ProcessState]](),
	reflect.TypeFor[api.ProcessStream]():  reflect.TypeFor[OneOf[api.ProcessStream]](),
	reflect.TypeFor[api.Signal]():         reflect.TypeFor[OneOf[api.Signal]](),
	reflect.TypeFor[api.KernelLanguage](): reflect.TypeFor[OneOf[api.KernelLanguage]](),
	reflect.TypeFor[api.KernelState]():    reflect.TypeFor[OneOf[api.KernelState]](),
	reflect.TypeFor[api.CellStatus]():     reflect.TypeFor[OneOf[api.CellStatus]](),
	reflect.TypeFor[api.CellEventType]():  reflect.TypeFor[OneOf[api.CellEventType]](),
	reflect.TypeFor[api.MachineState]():   reflect.TypeFor[OneOf[api.MachineState]](),
	reflect.TypeFor[api.AuditAction]():    reflect.TypeFor[OneOf[api.AuditAction]](),
	reflect.TypeFor[api.EventName]():      reflect.TypeFor[OneOf[api.EventName]](),
	reflect.TypeFor[api.Code]():           reflect.TypeFor[OneOf[api.Code]](),
}

type (
	sizeSchema     struct{}
	durationSchema struct{}
	bytesSchema    struct{}
	fileSchema     struct{}
	anySchema      struct{}
)

// OneOf is the schema of a type with a fixed set of values.
type OneOf[T interface {
	~string
	Values() []T
}] struct{}

func (OneOf[T]) Schema(huma.Registry) *huma.Schema {
	var none T
	s := &huma.Schema{Type: "string"}
	for _, v := range none.Values() {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

func (sizeSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		OneOf: []*huma.Schema{{Type: "integer", Description: "bytes"},
			{Type: "string", Description: "bytes with a unit, such as 256M"}},
		Examples: []any{"256M"},
	}
}

func (durationSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Pattern: `^(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`,
		PatternDescription: "a time with a unit, such as 500ms or 2s", Examples: []any{"2s"}}
}

func (bytesSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: "string", Description: "text"},
		{Type: "object", Description: "other bytes", AdditionalProperties: false, Required: []string{"base64"},
			Properties: map[string]*huma.Schema{
				"base64": {Type: "string", Description: "the bytes, in base64"},
			}},
	}}
}

func (fileSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: "string", Description: "text"},
		{Type: "object", Description: "other bytes", Required: []string{"content"}, Properties: map[string]*huma.Schema{
			"content":  {Type: "string", Description: "the bytes, in the encoding that encoding names"},
			"encoding": {Type: "string", Description: "absent or utf-8: content is text", Enum: []any{"base64", "utf-8"}},
		}},
	}}
}

func (anySchema) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// A sentEvent is one event of a stream, as described in the OpenAPI document.
type sentEvent struct {
	ID    int64           `json:"id" doc:"its number, from 1"`
	Event api.EventName   `json:"event" doc:"what happened"`
	Data  json.RawMessage `json:"data" doc:"JSON in one line; queued has a Status, compiled a Compilation, usage a LiveUsage, test a TestResult, stdout and stderr an object with the bytes in data, gap an object with the number of lost events in events_lost, result a Result, error a Problem, progress and done a Batch, overview an Overview"`
}

// eventsIn describes a stream in the same way as huma's package sse: each item is an event, and its
// fields are lines of it.
func eventsIn(types huma.Registry) *huma.MediaType {
	return &huma.MediaType{Schema: &huma.Schema{
		Title: "Server Sent Events", Type: "array",
		Description: "each item is an event, and each of its fields is a line of the event",
		Items:       types.Schema(reflect.TypeFor[sentEvent](), true, ""),
	}}
}

// pathParamDescription describes the path parameters.
func pathParamDescription(name, group string) string {
	switch name {
	case "id":
		return map[string]string{"Runs": "id of the run", "Batches": "id of the batch", "Rejudges": "id of the rejudge",
			"Sessions": "id of the session", "Kernels": "id of the session",
			"Snapshots": "id of the session"}[group]
	case "snapshot":
		return "id or name of the snapshot"
	case "pid":
		return "number of the process in its session, from 1 on"
	case "kernel":
		return "id of the kernel"
	case "digest":
		return "sha256 of the blob, in hex"
	case "name":
		if group == "Problems" {
			return "name of the problem: at most 100 letters, digits, dots, dashes and underscores"
		}
		return "name of the file, relative to /box or, with volume=true, to /workspace; it may have slashes"
	case "project":
		return "project that the volume belongs to"
	case "code":
		return "code of the failures"
	case "worker":
		return "name of the worker"
	case "link":
		return "id of the link"
	case "token":
		return "token of the link"
	}

	return ""
}
