package compatibility

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/service/client"
)

// A model's editor starts brig mcp, lists its tools, runs programs and works in a session: on the agent, and on a
// service in front of it.
func TestToolsForModels(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	file, keys := harness.KeysFile(t, a.Dir, "ann")
	s := harness.StartService(t, a, "--keys", file)

	for _, tt := range []struct {
		name  string
		env   []string
		tools int
	}{
		{"agent", []string{"BRIG_SOCKET=" + a.Socket, "BRIG_URL="}, 10},
		{"service", []string{"BRIG_URL=" + s.Url, "BRIG_API_KEY=" + keys["ann"]}, 21},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(harness.Binary(t, "brig"), "mcp")
			cmd.Env = append(os.Environ(), tt.env...)
			cmd.Stderr = os.Stderr
			useTools(t, &sdk.CommandTransport{Command: cmd}, tt.tools)
		})
	}
}

// A client of /mcp itself: what it runs is in the history by the dialect mcp, it is told of tests as they end, and a call
// that it cancels leaves no program.
func TestToolsOverHTTP(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	s := harness.StartService(t, a)
	useTools(t, &sdk.StreamableClientTransport{Endpoint: s.Url + "/mcp"}, 21)

	told := make(chan float64, 10)
	c, err := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *sdk.ProgressNotificationClientRequest) { told <- n.Params.Progress },
	}).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: s.Url + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	tests := &sdk.CallToolParams{Name: "run_tests", Arguments: map[string]any{"language": "python", "code": "print(input())",
		"tests": []map[string]any{{"stdin": "1", "expected": "1"}, {"stdin": "2", "expected": "2"}}}}
	tests.SetProgressToken("tests")
	if _, err := c.CallTool(t.Context(), tests); err != nil {
		t.Fatal(err)
	}
	for want := range 3 {
		if got := <-told; got != float64(want) {
			t.Errorf("progress %v, want %d", got, want)
		}
	}

	const loop = "while True:  pass # until it is canceled"
	ctx, cancel := context.WithCancel(t.Context())
	forever := &sdk.CallToolParams{Name: "run_code", Arguments: map[string]any{"language": "python", "code": loop}}
	forever.SetProgressToken("forever")
	answered := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, forever)
		answered <- err
	}()
	<-told // it waits for a slot
	<-told // it has one
	cancel()
	if err := <-answered; err == nil {
		t.Error("a canceled call has an answer")
	}

	web := client.New(s.Url, "")
	for ; ; time.Sleep(50 * time.Millisecond) { // until the history has it, which is when it has ended
		page, err := web.History(t.Context(), client.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range page.Items {
			if run.Dialect != "mcp" {
				t.Errorf("the history has %+v", run)
			}
		}

		last := page.Items[0]
		if last.SourceSize != int64(len(loop)) {
			continue
		}
		if last.Verdict != api.Canceled && last.Code != api.CodeCanceled {
			t.Errorf("a canceled call's program ended otherwise: %+v", last)
		}
		return
	}
}

func useTools(t *testing.T, to sdk.Transport, tools int) {
	c, err := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(), to, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Errorf("brig mcp after the end of its stdin: %v", err)
		}
	}()

	list, err := c.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != tools {
		t.Fatalf("%v, %+v", err, list)
	}
	history, err := c.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(history.ResourceTemplates) == 2 != (tools > 10) {
		t.Errorf("an agent keeps no results, and a service does: %v, %+v", err, history)
	}

	languages, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "brig://languages"})
	if err != nil || !strings.Contains(languages.Contents[0].Text, `"python"`) {
		t.Errorf("%v, %+v", err, languages)
	}

	call := func(tool string, args map[string]any, failed bool, says string) string {
		t.Helper()
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		text := res.Content[0].(*sdk.TextContent).Text
		if res.IsError != failed || !strings.Contains(text, says) {
			t.Errorf("%s %.100v: error: %v, %s\nwant %q", tool, args, res.IsError, text, says)
		}
		return text
	}

	call("list_languages", nil, false, "python")
	call("run_code", map[string]any{"language": "python", "code": "print(6 * 7)"}, false, "stdout:\n42\n")
	call("run_code", map[string]any{"language": "python", "code": "print(x)"}, false, "NameError")
	call("run_code", map[string]any{"language": "python", "code": "while True: pass", "timeout_seconds": 0.5}, false, "-limit")
	call("run_code", map[string]any{"language": "klingon", "code": ""}, true, "brig: unknown-language: ")
	call("run_code", map[string]any{"language": "python", "code": "print('x' * 100_000)"}, false, "[87713 bytes left out]")
	call("run_tests", map[string]any{"language": "python", "code": "print(sum(map(int, input().split())))",
		"tests": []map[string]any{{"stdin": "1 2", "expected": "3"}, {"stdin": "5 5", "expected": "11"}}}, false, "1 of 2 tests accepted")

	id, _, _ := strings.Cut(strings.TrimPrefix(call("create_session", nil, false, "session_id: "), "session_id: "), "\n")
	of := func(args map[string]any) map[string]any { args["session_id"] = id; return args }
	call("write_file", of(map[string]any{"path": "d/a.py", "content": "print('from a file')"}), false, "20 bytes are in /box/d/a.py")
	call("run_command", of(map[string]any{"command": "python3 d/a.py >out; wc -c <out"}), false, "12")
	call("read_file", of(map[string]any{"path": "/box/out"}), false, "from a file\n")
	if file, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "brig://sessions/" + id + "/files/d/a.py"}); err != nil ||
		file.Contents[0].Text != "print('from a file')" {
		t.Errorf("%v, %+v", err, file)
	}
	call("list_files", of(map[string]any{}), false, `"d/a.py"`)
	call("delete_file", of(map[string]any{"path": "out"}), false, "is deleted")
	call("read_file", of(map[string]any{"path": "out"}), true, "brig: not-found: ")
	if tools > 10 {
		useLiveTools(t, c, id, call)
	}
	call("end_session", of(map[string]any{}), false, "has ended")
	call("run_command", of(map[string]any{"command": "true"}), true, "Safe to try the same call again: no")
}

// useLiveTools starts processes in a session, and runs cells there, each call by itself.
func useLiveTools(t *testing.T, c *sdk.ClientSession, id string, call func(string, map[string]any, bool, string) string) {
	of := func(args map[string]any) map[string]any { args["session_id"] = id; return args }
	text := call("start_process", of(map[string]any{"command": []string{"python3", "-c",
		"import sys\nfor line in sys.stdin: print('got', line, end='', flush=True)\nprint('over', file=sys.stderr)\nsys.exit(7)"},
		"tag": "repl"}), false, "process_id: ")
	var pid int
	if _, err := fmt.Sscanf(text, "process_id: %d,", &pid); err != nil {
		t.Fatalf("%v in %q", err, text)
	}

	tell := func(args map[string]any, out any) {
		t.Helper()
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "read_output", Arguments: args})
		if err == nil {
			var raw []byte
			raw, err = json.Marshal(res.StructuredContent)
			err = errors.Join(err, json.Unmarshal(raw, out))
		}
		if err != nil || res.IsError {
			t.Fatalf("%v, %+v", err, res)
		}
	}
	process := func(args map[string]any) map[string]any { args["process_id"] = pid; return of(args) }
	call("read_output", process(map[string]any{}), false, "[no output yet]\n[running; next_offset 0]")
	call("send_input", process(map[string]any{"input": "one\n"}), false, "got 4 bytes")
	offset, seen := 0, ""
	await := func(says string) { // a program may write a line in pieces
		t.Helper()
		for !strings.Contains(seen, says) {
			var part struct {
				Stdout, Stderr, State string
				Next                  int `json:"next_offset"`
				Exit                  int `json:"exit_code"`
			}
			tell(process(map[string]any{"offset": offset, "wait_seconds": 60}), &part)
			if seen += part.Stdout + part.Stderr; part.State == "ended" {
				seen += fmt.Sprintf("[exit code %d]", part.Exit)
			}
			if offset = part.Next; part.State == "ended" && !strings.Contains(seen, says) {
				t.Fatalf("no %q in %q", says, seen)
			}
		}
	}
	await("got one\n")
	call("send_input", process(map[string]any{"input": "two\n", "end": true}), false, "its stdin has ended")
	await("[exit code 7]")
	if offset != len("got one\ngot two\nover\n") || !strings.Contains(seen, "got two\n") || !strings.Contains(seen, "over\n") {
		t.Errorf("up to offset %d: %q", offset, seen)
	}
	call("list_processes", of(map[string]any{}), false, `tag "repl"`)

	call("start_process", of(map[string]any{"command": "exec sleep 1000"}), false, "process_id: ")
	pid++
	call("send_signal", process(map[string]any{"signal": "SIGINT"}), false, "SIGINT was sent")
	call("read_output", process(map[string]any{"wait_seconds": 60}), false, "[ended, signaled (SIGINT); next_offset 0]")

	call("run_cell", of(map[string]any{"code": "x = 20"}), false, "status: ok")
	call("run_cell", of(map[string]any{"code": "print('hello')\nx + 1"}), false, "stdout:\nhello\nresult:\n21\n")
	call("run_cell", of(map[string]any{"code": "1 / 0"}), false, "ZeroDivisionError")
	call("run_cell", of(map[string]any{"code": "ask('add', 1)"}), false, "no tool \"add\"")
	call("run_cell", of(map[string]any{"code": "import time; time.sleep(1000)", "timeout_seconds": 0.2}), false, "status: timeout")
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_cell", Arguments: of(map[string]any{
		"code": "class P:\n  def _repr_png_(self): return b'\\x89PNG'\nP()"})})
	if err != nil || len(res.Content) != 2 || string(res.Content[1].(*sdk.ImageContent).Data) != "\x89PNG" {
		t.Errorf("%v, %+v", err, res)
	}

	// A cell whose client leaves is interrupted, and its variables stay, unless a slow machine needs 2 s for that: then it says so.
	call("run_cell", of(map[string]any{"code": "x = 20"}), false, "status: ok")
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "run_cell", Arguments: of(map[string]any{"code": "while True: pass"})})
		answered <- err
	}()
	for !strings.Contains(call("list_kernels", of(map[string]any{}), false, "python"), ", busy, ") {
		time.Sleep(20 * time.Millisecond)
	}
	cancel()
	if err := <-answered; err == nil {
		t.Error("a canceled call has an answer")
	}
	text = call("run_cell", of(map[string]any{"code": "x"}), false, "status: ")
	if !strings.Contains(text, "result:\n20\n") && !strings.Contains(text, "variables of earlier cells were lost") {
		t.Errorf("after a cell that was interrupted: %s", text)
	}
	_, kernel, _ := strings.Cut(text, "kernel_id: ")
	kernel, _, _ = strings.Cut(kernel, "\n")

	call("restart_kernel", of(map[string]any{"kernel_id": kernel}), false, "python, idle, 0 cells")
	call("run_cell", of(map[string]any{"kernel_id": kernel, "code": "x"}), false, "NameError")
	call("interrupt_kernel", of(map[string]any{"kernel_id": kernel}), false, "is interrupted")
	call("run_cell", of(map[string]any{"kernel_id": "none", "code": "x"}), true, "brig: not-found: ")
	other, _, _ := strings.Cut(strings.TrimPrefix(call("create_session", nil, false, "session_id: "), "session_id: "), "\n")
	call("run_cell", map[string]any{"session_id": other, "kernel_id": kernel, "code": "x"}, true, "brig: not-found: ")
	call("end_session", map[string]any{"session_id": other}, false, "has ended")
	call("end_kernel", of(map[string]any{"kernel_id": kernel}), false, "has ended")
}
