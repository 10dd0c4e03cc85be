package runs

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/judge/diagnose"
)

func TestExecuteAsRun(t *testing.T) {
	for _, tt := range []struct {
		body string
		want string // in the error; empty: none
		run  api.Run
	}{
		{`{"code":"puts 1","language":"ruby","timeout_seconds":1.5,"stdin":"in","env":{"A":"b"},"project":"p","task":"t"}`, "",
			api.Run{Language: "ruby", Source: api.Bytes("puts 1"), Stdin: api.Bytes("in"), Env: map[string]string{"A": "b"},
				Limits: api.Limits{Wall: api.Duration(1500 * time.Millisecond)}, Labels: api.Labels{Project: "p", Task: "t"}}},
		{`{"code":"x","language":"bash","files":{"b.txt":"text","a.bin":{"content":"/wA=","encoding":"base64"},"c":{"content":"plain"}}}`, "",
			api.Run{Language: "bash", Source: api.Bytes("x"), Files: []api.File{
				{Name: "a.bin", Content: api.Bytes("\xff\x00")}, {Name: "b.txt", Content: api.Bytes("text")},
				{Name: "c", Content: api.Bytes("plain")}}}},
		{`{"code":"print(1)"}`, "",
			api.Run{Language: "python", Source: lastValue, SourceName: driverName,
				Files: []api.File{{Name: "main.py", Content: api.Bytes("print(1)")}}}},
		{`{"code":"","language":"c"}`, "", api.Run{Language: "c", Source: api.Bytes{}}},
		{`{"code":""}`, "", api.Run{Language: "python", Source: lastValue, SourceName: driverName,
			Files: []api.File{{Name: "main.py", Content: api.Bytes{}}}}},
		{`{}`, "nothing to run: set code", api.Run{}},
		{`{"code":null}`, "nothing to run: set code", api.Run{}},
		{`{"code":"x","language":"ruby","requirements":["rake"]}`, "",
			api.Run{Language: "ruby", Source: api.Bytes("x"), Requirements: []string{"rake"}}},
		{`{"code":"x","timeout_seconds":-1}`, "timeout_seconds", api.Run{}},
		{`{"code":"x","timeout_seconds":1e400}`, "timeout_seconds", api.Run{}},
		{`{"code":"x","timeout_seconds":1e-12}`, "timeout_seconds", api.Run{}},
		{`{"code":"x","files":{"main.py":"y"}}`, "main.py", api.Run{}},
		{`{"code":"x","files":{"a":{"content":"!","encoding":"base64"}}}`, "base64", api.Run{}},
		{`{"code":"x","files":{"a":{"content":"!","encoding":"rot13"}}}`, "rot13", api.Run{}},
		{`{"code":"x","cdoe":1}`, "did you mean code?", api.Run{}},
		{`{"code":"x","timeout_seconds":"1s"}`, `timeout_seconds: write a number, such as 1.5, not "1s"`, api.Run{}},
		{`{"code":"x","code":"y"}`, "twice", api.Run{}},
		{`{"code":"x"} {}`, "after the end", api.Run{}},
	} {
		ask, err := decode.Value[api.Execute]([]byte(tt.body), "request")
		var run api.Run
		if err == nil {
			run, err = RunOf(ask)
		}
		switch {
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v; want %q", tt.body, err, tt.want)
		case tt.want == "" && (err != nil || !reflect.DeepEqual(run, tt.run)):
			t.Errorf("%s: %+v, %v; want %+v", tt.body, run, err, tt.run)
		}
	}
}

func TestExecuted(t *testing.T) {
	for _, tt := range []struct {
		name string
		res  api.Result
		want string // JSON
	}{
		{"good", api.Result{Verdict: api.OK, Stdout: api.Bytes("4\n\n"),
			Files: []api.File{{Name: valueName, Content: api.Bytes("7")}, {Name: "o", Content: api.Bytes("\xff")}}},
			`{"status":"success","result":"4\n","value":"7","error":null,"exit_code":0,"timeout":false,"files":{"o":{"content":"/w==","encoding":"base64"}}}`},
		{"exception", api.Result{Verdict: api.Nonzero, ExitCode: 1, Stderr: api.Bytes("Traceback\nNameError: name 'x' is not defined\n")},
			`{"status":"error","result":null,"error":"NameError: name 'x' is not defined","exit_code":1,"timeout":false,"files":{}}`},
		{"silent exit", api.Result{Verdict: api.Nonzero, ExitCode: 3},
			`{"status":"error","error":"the program ended with exit code 3","exit_code":3}`},
		{"wall limit", api.Result{Verdict: api.WallLimit, ExitCode: -1, Signal: 9}, `{"status":"error","exit_code":124,"timeout":true}`},
		{"cpu limit", api.Result{Verdict: api.CPULimit, ExitCode: -1, Signal: 9}, `{"status":"error","exit_code":124,"timeout":true}`},
		{"signal", api.Result{Verdict: api.Signaled, ExitCode: -1, Signal: 11, SignalName: "SIGSEGV"},
			`{"exit_code":139,"error":"the program was ended by SIGSEGV"}`},
		{"memory", api.Result{Verdict: api.MemoryLimit, ExitCode: -1, Signal: 9, Limits: api.Limits{Memory: 64 * api.MiB}},
			`{"exit_code":137,"error":"the program needed more memory than its limit of 64M"}`},
		{"output", api.Result{Verdict: api.OutputLimit, ExitCode: -1, Signal: 9, Limits: api.Limits{Output: api.MiB}},
			`{"exit_code":153,"error":"the program printed more than its limit of 1M"}`},
		{"denied", api.Result{Verdict: api.Denied, ExitCode: -1, Signal: 9, Denial: &api.Denial{Syscall: "ptrace"}},
			`{"exit_code":159,"error":"the program was ended because it made the system call ptrace, which is not allowed"}`},
	} {
		diagnose.Annotate("python", pythonMain, nil, &tt.res)
		body, err := json.Marshal(executed("python", time.Unix(0, 0), tt.res))
		if err != nil {
			t.Fatal(err)
		}

		var got, want map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}

		for name, v := range want {
			if !reflect.DeepEqual(got[name], v) {
				t.Errorf("%s: %s is %v; want %v", tt.name, name, got[name], v)
			}
		}
	}
}

func FuzzParseExecute(f *testing.F) {
	f.Add([]byte(`{"code":"print(1)","files":{"a":{"content":"eA==","encoding":"base64"},"b":"x"},"env":{"A":"b"},"timeout_seconds":0.5}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ask, err := decode.Value[api.Execute](raw, "request")
		if err != nil {
			return
		}
		run, err := RunOf(ask)
		if err != nil {
			return
		}
		if run.Language == "" || len(run.Source) == 0 {
			t.Errorf("%q became %+v", raw, run)
		}
	})
}
