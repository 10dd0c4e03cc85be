package service

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The behaviours that simple clients rely on.
func TestGatewayExecute(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	s := harness.StartService(t, a)
	type answer struct {
		Status        string
		Result, Value *string
		Error         *string
		Stdout        string
		ExitCode      int `json:"exit_code"`
		Timeout       bool
		Files         map[string]any
		Run           string `json:"run_id"`
	}

	text := func(s string) *string { return &s }
	for _, tt := range []struct {
		name string
		body string
		want answer
	}{
		{"an expression printed", `{"code":"print(2+2)"}`, answer{Status: "success", Result: text("4"), Stdout: "4\n"}},
		{"a last bare expression", `{"code":"x = 20\nx + 22"}`, answer{Status: "success", Result: text(""), Value: text("42")}},
		{"an unknown name", `{"code":"print(x)"}`, answer{Status: "error", Error: text("NameError: name 'x' is not defined"), ExitCode: 1}},
		{"a syntax error", `{"code":"def f(:"}`, answer{Status: "error", Error: text("SyntaxError: invalid syntax"), ExitCode: 1}},
		{"an exit code", `{"code":"import sys; sys.exit(7)"}`,
			answer{Status: "error", Error: text("the program ended with exit code 7"), ExitCode: 7}},
		{"an exception in a last expression", `{"code":"[].pop()"}`,
			answer{Status: "error", Error: text("IndexError: pop from empty list"), ExitCode: 1}},
		{"a repr that fails", `{"code":"class A:\n  def __repr__(self): raise ValueError('no')\nA()"}`,
			answer{Status: "error", Error: text("ValueError: no"), ExitCode: 1}},
		{"main's own names", `{"code":"import dataclasses, pickle, sys, os\n@dataclasses.dataclass\nclass P:\n  a: int\nif __name__ == '__main__':\n  print(pickle.loads(pickle.dumps(P(1))), sys.argv, os.path.basename(__file__))"}`,
			answer{Status: "success", Result: text("P(a=1) ['main.py'] main.py"), Stdout: "P(a=1) ['main.py'] main.py\n"}},
		{"stdin, files and env",
			`{"code":"import os\nprint(input(), open('d.txt').read(), os.environ['A'])","stdin":"in\n","files":{"d.txt":"file"},"env":{"A":"b"}}`,
			answer{Status: "success", Result: text("in file b"), Stdout: "in file b\n"}},
		{"files written", `{"code":"n = open('a.bin','wb').write(bytes([255,0])); m = open('b.txt','w').write('hi')"}`,
			answer{Status: "success", Result: text(""),
				Files: map[string]any{"a.bin": map[string]any{"content": "/wA=", "encoding": "base64"}, "b.txt": "hi"}}},
		{"no room for the value",
			`{"code":"f = open('big', 'wb', 0)\ntry:\n  while True: n = f.write(bytes(1 << 20))\nexcept OSError: print('full')\n5"}`,
			answer{Status: "success", Result: text("full"), Stdout: "full\n"}},
		{"a directory in its place", `{"code":"import os\nos.mkdir('.brig-value')\n5"}`, answer{Status: "success", Result: text("")}},
		{"its own open and repr", `{"code":"import builtins\nbuiltins.open = builtins.repr = None\n5"}`,
			answer{Status: "success", Result: text(""), Value: text("5")}},
		{"an exception after stdout was closed", `{"code":"import sys\nsys.stdout.close()\n[].pop()"}`,
			answer{Status: "error", Error: text("IndexError: pop from empty list"), ExitCode: 1}},
		{"a value after stdout's descriptor was closed", `{"code":"import os\nprint('a', flush=True)\nos.close(1)\n7"}`,
			answer{Status: "success", Result: text("a"), Stdout: "a\n", Value: text("7")}},
		{"a repr of an odd class",
			`{"code":"class S(str):\n  def __getitem__(self, i): return 5\nclass A:\n  def __repr__(self): return S('odd')\nA()"}`,
			answer{Status: "success", Result: text(""), Value: text("odd")}},
		{"another language's alias", `{"code":"print(1)","language":"py"}`, answer{Status: "success", Result: text("1"), Stdout: "1\n"}},
	} {
		var got answer
		s.Call("POST", "/execute", tt.body, 200, &got)
		if got.Run == "" {
			t.Errorf("%s: no run id", tt.name)
		}

		got.Run = ""
		if tt.want.Files == nil {
			tt.want.Files = map[string]any{}
		}

		g, w := harness.Marshal(t, got), harness.Marshal(t, tt.want)
		if g != w {
			t.Errorf("%s:\n%s; want\n%s", tt.name, g, w)
		}
	}

	var failed answer
	s.Call("POST", "/execute", `{"code":"def f():\n  return [][1]\nf()"}`, 200, &failed)
	explain := exec.Command(harness.Binary(t, "brig"), "explain", failed.Run)
	explain.Env = append(os.Environ(), "BRIG_URL="+s.Url)
	said, err := explain.CombinedOutput()
	for _, want := range []string{"nonzero", "main.py:2", "IndexError (value)", "hint"} {
		if err != nil || !strings.Contains(string(said), want) {
			t.Errorf("brig explain: %v, %s; want %q", err, said, want)
		}
	}

	for _, code := range []string{"1", `import re; re.escape('a')`} { // it begins from a template, as other programs do
		var ended answer
		var record struct{ Result api.Result }
		s.Call("POST", "/execute", harness.Marshal(t, map[string]string{"code": code}), 200, &ended)
		if s.Call("GET", "/v1/runs/"+ended.Run, nil, 200, &record); !record.Result.Host.Template {
			t.Errorf("%s: %s, %+v", code, record.Result.Verdict, record.Result.Host)
		}
	}

	var interrupted answer
	s.Call("POST", "/execute", `{"code":"raise KeyboardInterrupt"}`, 200, &interrupted)
	if e := interrupted.Error; interrupted.ExitCode != 130 || e == nil || strings.Contains(*e, "brig-") {
		t.Errorf("after KeyboardInterrupt: %s", harness.Marshal(t, interrupted))
	}

	var late answer
	s.Call("POST", "/execute", `{"code":"while True: pass","timeout_seconds":0.5}`, 200, &late)
	if late.Status != "error" || !late.Timeout || late.ExitCode != 124 || late.Result != nil {
		t.Errorf("after a timeout: %s", harness.Marshal(t, late))
	}

	s.Refused("POST", "/execute", `{"code":"1","requirements":["numpy"]}`, 422, api.CodeUnsupported)
	s.Refused("POST", "/execute", `{"code":"1","language":"cobol"}`, 404, api.CodeNoLanguage)
	s.Refused("POST", "/execute", `{"code":"1","timeout_seconds":1e5}`, 400, api.CodeAboveCeiling)
}
