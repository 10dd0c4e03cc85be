package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
)

// Arguments that do not fit the schema get an answer that says so, and no run begins.
func TestArgumentsThatDoNotFit(t *testing.T) {
	c := inMemory(t, &fakeLive{})
	for _, tt := range []struct{ tool, arguments, want string }{
		{"run_code", `null`, "required"},
		{"run_code", `[]`, "validating"},
		{"run_code", `"text"`, "validating"},
		{"run_code", `{}`, "required"},
		{"run_code", `{"language":"python"}`, "code"},
		{"run_code", `{"language":7,"code":"x"}`, "language"},
		{"run_code", `{"language":"python","code":"x","more":1}`, "more"},
		{"run_code", `{"language":"python","Code":"x"}`, "Code"},
		{"run_code", `{"language":"python","code":"x","Code":"y"}`, "Code"},
		{"run_tests", `{"language":"python","code":"x","tests":{}}`, "tests"},
		{"run_command", `{"session_id":"s1","command":7}`, "command"},
		{"run_command", `{"session_id":"s1","command":[]}`, "command"},
		{"write_file", `{"session_id":"s1","path":"f","content":{"base64":"QQ==","more":1}}`, "content"},
		{"list_languages", `{"more":1}`, "more"},
		{"start_process", `{"session_id":"s1"}`, "command"},
		{"read_output", `{"session_id":"s1","process_id":"1"}`, "process_id"},
		{"read_output", `{"session_id":"s1","process_id":1.5}`, "process_id"},
		{"send_input", `{"session_id":"s1","process_id":1,"input":7}`, "input"},
		{"run_cell", `{"session_id":"s1","code":null}`, "code"},
	} {
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tt.tool, Arguments: json.RawMessage(tt.arguments)})
		if err != nil { // the protocol itself refuses it
			if !strings.HasPrefix(tt.arguments, "{") {
				continue
			}
			t.Errorf("%s %s: %v", tt.tool, tt.arguments, err)
			continue
		}
		text := res.Content[0].(*sdk.TextContent).Text
		if !res.IsError || !strings.Contains(text, tt.want) || res.StructuredContent != nil {
			t.Errorf("%s %s: failed: %v, %s, want %q", tt.tool, tt.arguments, res.IsError, text, tt.want)
		}
	}
}

// What a tool answers fits the schema that clients are told.
func TestAnswersFitTheirSchemas(t *testing.T) {
	c := inMemory(t, &fakeLive{})
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]*jsonschema.Resolved{}
	for _, one := range list.Tools {
		text, err := json.Marshal(one.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		if rules[one.Name], err = s.Resolve(nil); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct {
		tool string
		args args
	}{
		{"list_languages", nil},
		{"run_code", args{"language": "python", "code": "x"}},
		{"run_code", args{"language": "python", "code": "fail"}},
		{"run_code", args{"language": "python", "code": "long"}},
		{"run_tests", args{"language": "python", "code": "x", "tests": []args{{"stdin": ""}}}},
		{"create_session", args{}},
		{"run_command", args{"session_id": "s1", "command": "x"}},
		{"write_file", args{"session_id": "s1", "path": "f", "content": "text"}},
		{"read_file", args{"session_id": "s1", "path": "f"}},
		{"list_files", args{"session_id": "s1"}},
		{"delete_file", args{"session_id": "s1", "path": "f"}},
		{"list_files", args{"session_id": "s1"}}, // none
		{"list_processes", args{"session_id": "s1"}},
		{"start_process", args{"session_id": "s1", "command": "x", "terminal": true, "env": args{"A": "b"}}},
		{"read_output", args{"session_id": "s1", "process_id": 1}},
		{"send_input", args{"session_id": "s1", "process_id": 1, "input": "x", "end": true}},
		{"send_signal", args{"session_id": "s1", "process_id": 1}},
		{"read_output", args{"session_id": "s1", "process_id": 1}}, // which has ended
		{"list_processes", args{"session_id": "s1"}},
		{"list_kernels", args{"session_id": "s1"}},
		{"start_kernel", args{"session_id": "s1"}},
		{"run_cell", args{"session_id": "s1", "code": code()}},
		{"run_cell", args{"session_id": "s1", "code": code(api.CellEvent{Type: api.CellEventDisplay, Data: forms(args{"image/png": "AA=="})},
			api.CellEvent{Type: api.CellEventError, Name: "E"})}},
		{"list_kernels", args{"session_id": "s1"}},
		{"interrupt_kernel", args{"session_id": "s1", "kernel_id": "k1"}},
		{"restart_kernel", args{"session_id": "s1", "kernel_id": "k1"}},
		{"end_kernel", args{"session_id": "s1", "kernel_id": "k1"}},
		{"end_session", args{"session_id": "s1"}},
	} {
		var answer map[string]any
		if text, failed := use(t, c, tt.tool, tt.args, &answer); failed {
			t.Errorf("%s: %s", tt.tool, text)
			continue
		}
		if err := rules[tt.tool].Validate(answer); err != nil {
			t.Errorf("%s answers %v: %v", tt.tool, answer, err)
		}
	}
}
