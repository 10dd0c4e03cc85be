package service

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/internal/openapitest"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/openapi"
	"github.com/brig-sandbox/brig/service/runs"
)

func TestDocumentListsEveryRoute(t *testing.T) {
	routes := (&Gateway{}).routes()
	text, err := openapi.Document(routes, "v")
	if err != nil {
		t.Fatal(err)
	}

	var doc struct {
		OpenAPI    string
		Paths      map[string]map[string]struct{ OperationID, Summary string }
		Components struct{ Schemas map[string]json.RawMessage }
	}

	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("openapi %q", doc.OpenAPI)
	}

	names := map[string]bool{}
	for _, r := range routes {
		op := doc.Paths[strings.ReplaceAll(r.Path, "...", "")][strings.ToLower(r.Method)]
		if op.OperationID != r.Name || op.Summary == "" || names[r.Name] {
			t.Errorf("%s %s is described as %+v, named before: %v", r.Method, r.Path, op, names[r.Name])
		}
		names[r.Name] = true
	}

	for _, m := range regexp.MustCompile(`"\$ref":"#/components/schemas/([^"]+)"`).FindAllSubmatch(text, -1) {
		if doc.Components.Schemas[string(m[1])] == nil {
			t.Errorf("schema %s is named and not there", m[1])
		}
	}

	run := string(doc.Components.Schemas["RunRequest"])
	for _, field := range []string{`"source":`, `"base64"`, `"256M"`} {
		if !strings.Contains(run+string(doc.Components.Schemas["Limits"]), field) {
			t.Errorf("the schema of a run lacks %s: %.300s", field, run)
		}
	}
}

// The description explains each field and parameter, and lists the values of those with a fixed
// set.
func TestDocumentDescribesEverything(t *testing.T) {
	text, err := openapi.Document((&Gateway{}).routes(), "v")
	if err != nil {
		t.Fatal(err)
	}

	type schema struct {
		Ref         string `json:"$ref"`
		Description string
		Enum        []string
		Properties  map[string]schema
		Items       *schema
		OneOf       []schema
	}

	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, Description string
				Schema            schema
			}
		}
		Components struct{ Schemas map[string]schema }
	}

	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}

	seen := map[string][]string{}
	var walk func(string, schema)
	walk = func(at string, s schema) {
		for name, p := range s.Properties {
			if p.Description == "" {
				t.Errorf("%s.%s has no description", at, name)
			}
			walk(at+"."+name, p)
		}

		if s.Items != nil {
			walk(at+"[]", *s.Items)
		}

		for _, one := range s.OneOf {
			walk(at, one)
		}

		if s.Enum != nil {
			seen[at] = s.Enum
		}
	}

	for name, s := range doc.Components.Schemas {
		walk(name, s)
	}

	for path, ops := range doc.Paths {
		for method, op := range ops {
			for _, p := range op.Parameters {
				if p.Description == "" {
					t.Errorf("%s %s: parameter %s has no description", method, path, p.Name)
				}
				walk(p.Name, p.Schema)
			}
		}
	}

	for at, want := range map[string][]string{
		"Result.verdict": words[api.Verdict](), "Record.verdict": words[api.Verdict](), "Summary.verdict": words[api.Verdict](),
		"Executed.verdict": words[api.Verdict](),
		"Result.stage":     words[api.Stage](), "Record.stage": words[api.Stage](), "TestResult.answer": words[api.Answer](),
		"Compare.how":     words[api.Comparison](),
		"RunRequest.mode": {string(api.Strict), string(api.Fresh), string(api.Exclusive)}, "Host.mode": words[api.Mode](),
		"RunRequest.profile_mode": words[api.ProfileMode](), "SessionRequest.profile_mode": words[api.ProfileMode](),
		"Status.state": words[api.State](), "Session.state": words[api.SessionState](), "FileInfo.kind": words[api.FileKind](),
		"PathChange.change":  words[api.ChangeKind](),
		"Finding.severity":   words[api.Severity](),
		"Diagnosis.category": words[api.Category](), "Alert.kind": words[api.AlertKind](), "ServiceHealth.status": words[api.ServiceStatus](),
		"SentEvent.event": words[api.EventName](), "Problem.code": words[api.Code](), "Record.code": words[api.Code](),
		"check": {"off", "warn", "enforce"},
		"Result.limits_hit[]": {api.HitWall, api.HitCPU, api.HitMemory, api.HitPids, api.HitOutput, api.HitScratch,
			api.HitInodes, api.HitOpenFiles, api.HitFileSize},
		"RunRequest.preset": {"hardened", "light"}, "Executed.status": {"success", "error"}, "Host.cgroup_mode": {"v2", "v1", "hybrid"},
	} {
		if !slices.Equal(seen[at], want) {
			t.Errorf("%s can be %q; want %q", at, seen[at], want)
		}
	}

	for _, preset := range seen["RunRequest.preset"] {
		if _, err := api.Preset(preset); err != nil {
			t.Error(err)
		}
	}
}

// Every type in the description with a fixed set of values has a schema that lists them.
func TestClosedTypesHaveSchemas(t *testing.T) {
	known := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		if known[of] || openapi.SchemaTypes[of] != nil {
			return
		}

		known[of] = true

		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(of.Elem())
		case reflect.Map:
			walk(of.Elem()) // a schema does not describe map keys
		case reflect.Struct:
			for _, f := range reflect.VisibleFields(of) {
				if of != reflect.TypeFor[time.Time]() && !f.Anonymous {
					walk(f.Type)
				}
			}

		case reflect.String:
			if of != reflect.TypeFor[string]() {
				t.Errorf("%v is a string of its own without a form", of)
			}
		}
	}

	for _, r := range (&Gateway{}).routes() {
		for _, of := range []reflect.Type{r.Body, r.Answer, r.Accepted, r.Unavailable} {
			if of != nil {
				walk(of)
			}
		}
		for _, p := range r.Params {
			if p.Of != nil {
				walk(p.Of)
			}
		}
	}

	if len(known) < 40 {
		t.Errorf("%d types were looked at", len(known))
	}
}

func words[T interface {
	~string
	Values() []T
}]() (all []string) {
	var none T
	for _, v := range none.Values() {
		all = append(all, string(v))
	}
	return all
}

// Each described response exists, and has a description.
func TestDocumentedAnswers(t *testing.T) {
	text, err := openapi.Document((&Gateway{}).routes(), "v")
	if err != nil {
		t.Fatal(err)
	}

	doc, err := openapitest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		method, path string
		statuses     []int
	}{
		{"POST", "/v1/runs", []int{200, 202, 400, 401, 403, 404, 408, 413, 415, 422, 429, 500, 502, 503}},
		{"POST", "/v1/sessions/x/exec", []int{200, 404, 410, 422, 429, 503}},
		{"PUT", "/v1/sessions/x/files/a/b", []int{204, 410, 413}},
		{"GET", "/health/ready", []int{200, 503}},
		{"GET", "/health", []int{200, 401}},
	} {
		for _, status := range tt.statuses {
			if err := doc.CheckStatus(tt.method, tt.path, status); err != nil {
				t.Error(err)
			}
		}
	}

	for _, r := range (&Gateway{}).routes() {
		for _, status := range r.Failures() {
			if openapi.Failures[status] == "" {
				t.Errorf("%s: %d is not described", r.Name, status)
			}
		}
	}

	for code, status := range core.Statuses {
		if openapi.Failures[status] == "" {
			t.Errorf("%s has status %d, which is not described", code, status)
		}
	}
}

// validate decodes a request and says what is wrong with it.
func validate[T interface{ Validate() error }](text []byte) error {
	ask, err := decode.Value[T](text, "request")
	if err != nil {
		return err
	}
	return ask.Validate()
}

// The examples that the page offers are valid requests.
func TestExamplesAreValid(t *testing.T) {
	tried := 0
	for _, r := range (&Gateway{}).routes() {
		if r.Body == nil {
			continue
		}

		text, err := json.Marshal(r.Example)
		if err != nil {
			t.Fatal(err)
		}

		switch r.Name {
		case "runAgain": // changes of a request, no request by themselves
			_, err = decode.RunRequest(text)
		case "linkRun":
			err = validate[api.RunLinkRequest](text)
		case "rejudge":
			_, err = decode.Value[api.RejudgeRequest](text, "request")
		case "execute":
			var ask api.Execute
			if ask, err = decode.Value[api.Execute](text, "request"); err == nil {
				_, err = runs.RunOf(ask)
			}

		case "run":
			var run api.RunRequest
			if run, err = decode.RunRequest(text); err == nil {
				err = run.Validate()
			}

		case "createSession":
			err = validate[api.SessionRequest](text)
		case "exec":
			err = validate[api.Exec](text)
		case "createProcess":
			err = validate[api.ProcessRequest](text)
		case "resize":
			err = validate[api.TTY](text)
		case "createKernel":
			err = validate[api.KernelRequest](text)
		case "executeCell":
			err = validate[api.Cell](text)
		case "answerCell":
			err = validate[api.KernelAnswer](text)
		case "setLife":
			err = validate[api.LifeRequest](text)
		case "createSnapshot":
			var ask api.SnapshotRequest
			if ask, err = decode.Value[api.SnapshotRequest](text, "snapshot"); err == nil {
				err = ask.Validate()
			}
		case "takeFiles":
			var ask api.TakeRequest
			if ask, err = decode.Value[api.TakeRequest](text, "take"); err == nil {
				err = ask.Validate()
			}
		case "sendSignal":
			var ask api.SignalRequest
			if ask, err = decode.Value[api.SignalRequest](text, "signal"); err == nil {
				err = ask.Signal.Validate()
			}

		case "end":
			_, err = decode.Value[api.EndRequest](text, "request")
		case "createBatch":
			_, err = decode.Value[api.BatchRequest](text, "request")
		case "verifyProblem":
			_, err = decode.Value[api.VerifyRequest](text, "request")
		case "check":
			_, err = decode.Value[api.CheckRequest](text, "check")
		default:
			t.Errorf("%s has a body that this test does not try", r.Name)
		}

		if err != nil {
			t.Errorf("%s: %s: %v", r.Name, text, err)
		}

		tried++
	}

	if tried < 4 {
		t.Errorf("%d examples", tried)
	}
}
