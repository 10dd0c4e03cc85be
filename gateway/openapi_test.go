package gateway

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/openapitest"
)

func TestDocumentSaysWhatIsThere(t *testing.T) {
	routes := (&Gateway{}).routes()
	text, err := document(routes, "v")
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
		op := doc.Paths[strings.ReplaceAll(r.path, "...", "")][strings.ToLower(r.method)]
		if op.OperationID != r.name || op.Summary == "" || names[r.name] {
			t.Errorf("%s %s is described as %+v, named before: %v", r.method, r.path, op, names[r.name])
		}
		names[r.name] = true
	}
	for _, m := range regexp.MustCompile(`"\$ref":"#/components/schemas/([^"]+)"`).FindAllSubmatch(text, -1) {
		if doc.Components.Schemas[string(m[1])] == nil {
			t.Errorf("schema %s is named and not there", m[1])
		}
	}
	run := string(doc.Components.Schemas["Run"])
	for _, field := range []string{`"source":`, `"base64"`, `"256M"`} {
		if !strings.Contains(run+string(doc.Components.Schemas["Limits"]), field) {
			t.Errorf("the schema of a run lacks %s: %.300s", field, run)
		}
	}
}

// Each answer that is described is one that there is, and what it is is said.
func TestDocumentedAnswers(t *testing.T) {
	text, err := document((&Gateway{}).routes(), "v")
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
		{"POST", "/v1/runs", []int{200, 202, 400, 401, 403, 404, 413, 415, 422, 429, 500, 502, 503}},
		{"POST", "/v1/sessions/x/exec", []int{200, 404, 410, 422, 429, 503}},
		{"PUT", "/v1/sessions/x/files/a/b", []int{204, 410, 413}},
		{"GET", "/health/ready", []int{200, 503}},
		{"GET", "/health", []int{200, 401}},
	} {
		for _, status := range tt.statuses {
			if err := doc.Answers(tt.method, tt.path, status); err != nil {
				t.Error(err)
			}
		}
	}
	for _, r := range (&Gateway{}).routes() {
		for _, status := range r.failures() {
			if failures[status] == "" {
				t.Errorf("%s: %d is not described", r.name, status)
			}
		}
	}
	for code, status := range statuses {
		if failures[status] == "" {
			t.Errorf("%s has status %d, which is not described", code, status)
		}
	}
}

// What the page offers to try can be tried.
func TestExamplesAreTaken(t *testing.T) {
	tried := 0
	for _, r := range (&Gateway{}).routes() {
		if r.body == nil {
			continue
		}
		text, err := json.Marshal(r.example)
		if err != nil {
			t.Fatal(err)
		}
		switch r.name {
		case "execute":
			var ask api.Execute
			if ask, err = api.Parse[api.Execute](text, "request"); err == nil {
				_, err = runOf(ask)
			}
		case "run":
			var run api.Run
			if run, err = api.ParseRun(text); err == nil {
				err = run.Validate()
			}
		case "createSession":
			var ask api.SessionRequest
			if ask, err = api.Parse[api.SessionRequest](text, "session"); err == nil {
				err = ask.Validate()
			}
		case "exec":
			var ask api.Exec
			if ask, err = api.Parse[api.Exec](text, "exec"); err == nil {
				err = ask.Validate()
			}
		case "check":
			_, err = api.Parse[api.CheckRequest](text, "check")
		default:
			t.Errorf("%s has a body that this test does not try", r.name)
		}
		if err != nil {
			t.Errorf("%s: %s: %v", r.name, text, err)
		}
		tried++
	}
	if tried < 4 {
		t.Errorf("%d examples", tried)
	}
}
