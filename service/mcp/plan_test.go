package mcp

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// plain is a run of Python as planRun makes it.
func plain(change func(*api.Run)) api.Run {
	r := api.Run{Language: "python", Source: api.Bytes("print(1)"), Stdin: api.Bytes{},
		Collect: api.Collect{Files: collectFiles, Bytes: collectBytes}, Labels: api.Labels{Project: "mcp"}}
	if change != nil {
		change(&r)
	}
	return r
}

func TestPlanRun(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		want       api.Run
		code       api.Code // of a refusal
	}{
		{"least", `{"language":"python","code":"print(1)"}`, plain(nil), ""},
		{"empty program", `{"language":"python","code":""}`, plain(func(r *api.Run) { r.Source = api.Bytes{} }), ""},
		{"limits", `{"language":"python","code":"print(1)","timeout_seconds":1.5,"memory":"64M"}`,
			plain(func(r *api.Run) {
				r.Limits = api.Limits{Wall: api.Duration(1500 * time.Millisecond), Memory: 64 * api.MiB}
			}), ""},
		{"input", `{"language":"python","code":"print(1)","stdin":"a\n","args":["x","-y"],
			"files":{"b.bin":{"base64":"AAH/"},"a.txt":"text"}}`,
			plain(func(r *api.Run) {
				r.Stdin, r.Argv = api.Bytes("a\n"), []string{"x", "-y"}
				r.Files = []api.File{{Name: "a.txt", Content: api.Bytes("text")},
					{Name: "b.bin", Content: api.Bytes("\x00\x01\xff")}}
			}), ""},
		{"no language", `{"language":"","code":"print(1)"}`, api.Run{}, api.CodeBadRequest},
		{"negative time", `{"language":"python","code":"","timeout_seconds":-1}`, api.Run{}, api.CodeBadLimits},
		{"endless time", `{"language":"python","code":"","timeout_seconds":1e300}`, api.Run{}, api.CodeBadLimits},
		{"no time", `{"language":"python","code":"","timeout_seconds":1e-12}`, api.Run{}, api.CodeBadLimits},
		{"memory without sense", `{"language":"python","code":"","memory":"much"}`, api.Run{}, api.CodeBadLimits},
		{"a file outside", `{"language":"python","code":"","files":{"../x":""}}`, api.Run{}, api.CodeBadFile},
	} {
		got, err := planRun(arguments[RunCode](t, tt.args))
		check(t, tt.name, got, tt.want, err, tt.code)
	}
}

func TestPlanTests(t *testing.T) {
	three := api.Bytes("3")
	for _, tt := range []struct {
		name, args string
		want       api.Run
		code       api.Code
	}{
		{"two", `{"language":"python","code":"print(1)","compare":"tokens",
			"tests":[{"stdin":"1 2","expected":"3"},{"id":"b","stdin":""}]}`,
			plain(func(r *api.Run) {
				r.Collect, r.KeepOutput = api.Collect{None: true}, keptOutput
				r.Compare = api.Compare{How: api.CompareTokens}
				r.Tests = []api.Test{{ID: "1", Stdin: api.Bytes("1 2"), Expected: &three}, {ID: "b", Stdin: api.Bytes{}}}
			}), ""},
		{"none", `{"language":"python","code":"","tests":[]}`, api.Run{}, api.CodeBadRequest},
		{"the same id", `{"language":"python","code":"","tests":[{"id":"2","stdin":""},{"stdin":""}]}`, api.Run{},
			api.CodeBadRequest},
		{"no such comparison", `{"language":"python","code":"","tests":[{"stdin":""}],"compare":"fuzzy"}`, api.Run{},
			api.CodeBadRequest},
	} {
		got, err := planTests(arguments[RunTests](t, tt.args))
		check(t, tt.name, got, tt.want, err, tt.code)
	}
}

func TestPlanSession(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		want       api.SessionRequest
		code       api.Code
	}{
		{"least", `{}`, api.SessionRequest{Language: "python"}, ""},
		{"all", `{"language":"ruby","idle_minutes":0.5,"memory":"1G"}`, api.SessionRequest{Language: "ruby",
			Idle: api.Duration(30 * time.Second), Limits: api.Limits{Memory: api.GiB}}, ""},
		{"negative time", `{"idle_minutes":-3}`, api.SessionRequest{}, api.CodeBadLimits},
	} {
		got, err := planSession(arguments[CreateSession](t, tt.args))
		check(t, tt.name, got, tt.want, err, tt.code)
	}
}

func TestPlanCommand(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		want       api.Exec
		code       api.Code
	}{
		{"a line", `{"session_id":"s","command":"ls | wc -l"}`,
			api.Exec{Argv: []string{"sh", "-c", "ls | wc -l"}, Stdin: api.Bytes{}}, ""},
		{"words", `{"session_id":"s","command":["ls","-l"],"stdin":"x","timeout_seconds":2}`,
			api.Exec{Argv: []string{"ls", "-l"}, Stdin: api.Bytes("x"), Limits: api.Limits{Wall: api.Duration(2 * time.Second)}}, ""},
		{"NUL", `{"session_id":"s","command":["ls","\u0000"]}`, api.Exec{}, api.CodeBadRequest},
	} {
		got, err := planCommand(arguments[RunCommand](t, tt.args))
		check(t, tt.name, got, tt.want, err, tt.code)
	}
}

func TestUnionsRefuseOtherForms(t *testing.T) {
	for _, text := range []string{`7`, `[1]`, `{}`, `{"base64":null}`, `{"base64":"?"}`, `{"base64":"AA==","x":1}`, `[]`} {
		var content Content
		if err := json.Unmarshal([]byte(text), &content); err == nil {
			t.Errorf("content %s is accepted as %q", text, content)
		}
		var command Command
		if err := json.Unmarshal([]byte(text), &command); err == nil {
			t.Errorf("command %s is accepted as %q", text, command)
		}
	}
}

func TestNamesInBox(t *testing.T) {
	for path, want := range map[string]string{"a": "a", "/box/a/b": "a/b", "./a": "a", "/box": "", ".": "", "/etc/passwd": "/etc/passwd",
		"/box/../etc": "../etc"} {
		if got := boxName(path); got != want {
			t.Errorf("%q is %q; want %q", path, got, want)
		}
	}
}

// arguments decodes a tool's arguments.
func arguments[In any](t *testing.T, text string) (in In) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return in
}

func check(t *testing.T, name string, got, want any, err error, code api.Code) {
	t.Helper()
	var e *api.Error
	switch {
	case code != "":
		if !errors.As(err, &e) || e.Code != code || strings.TrimSpace(e.Message) == "" {
			t.Errorf("%s: error %v; want the code %s", name, err, code)
		}
	case err != nil:
		t.Errorf("%s: %v", name, err)
	case !reflect.DeepEqual(got, want):
		t.Errorf("%s: planned\n%+v\nwant\n%+v", name, got, want)
	}
}
