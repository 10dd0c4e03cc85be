package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A model's editor starts brig mcp, lists its tools, runs programs and works in a session: on the agent, and on a
// service in front of it.
func TestToolsForModels(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	a.needPython(t)
	file, keys := keysFile(t, a.dir, "ann")
	s := startService(t, a, "--keys", file)

	for _, tt := range []struct {
		name string
		env  []string
	}{
		{"agent", []string{"BRIG_SOCKET=" + a.socket, "BRIG_URL="}},
		{"service", []string{"BRIG_URL=" + s.url, "BRIG_API_KEY=" + keys["ann"]}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(binary(t, "brig"), "mcp")
			cmd.Env = append(os.Environ(), tt.env...)
			cmd.Stderr = os.Stderr
			useTools(t, &sdk.CommandTransport{Command: cmd})
		})
	}
}

func useTools(t *testing.T, to sdk.Transport) {
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
	if err != nil || len(list.Tools) != 10 {
		t.Fatalf("%v, %+v", err, list)
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
	call("list_files", of(map[string]any{}), false, `"d/a.py"`)
	call("delete_file", of(map[string]any{"path": "out"}), false, "is deleted")
	call("read_file", of(map[string]any{"path": "out"}), true, "brig: not-found: ")
	call("end_session", of(map[string]any{}), false, "has ended")
	call("run_command", of(map[string]any{"command": "true"}), true, "Safe to try the same call again: no")
}
