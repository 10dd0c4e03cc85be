package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
)

// A fakeRunner is a Runner whose programs print their source, and whose sessions are maps of files.
type fakeRunner struct {
	files map[string]string // nil: there is no session

	begun, ended chan struct{} // closed when the program forever begins, and ends
}

func (f *fakeRunner) Languages(context.Context) ([]api.Language, error) {
	return []api.Language{{Name: "python", Version: "3.13", Stored: true}}, nil
}

func (f *fakeRunner) Run(ctx context.Context, r api.Run, w Watch) (api.Result, error) {
	if string(r.Source) == "forever" {
		close(f.begun)
		<-ctx.Done()
		close(f.ended)
		return api.Result{}, ctx.Err()
	}
	if w.Started != nil {
		w.Started()
	}
	res := api.Result{Verdict: api.OK, Stage: api.StageRun, Stdout: r.Source,
		Usage: api.Usage{StdoutBytes: int64(len(r.Source))}}
	switch string(r.Source) {
	case "fail":
		res.Verdict, res.ExitCode = api.Nonzero, 1
	case "brig":
		return api.Result{}, &api.Problem{Code: api.CodeQueueFull, Detail: "the queue is full", RetrySafe: true, RetryAfter: 1}
	case "long":
		res.Stdout = bytes.Repeat([]byte("x"), 100_000)
		res.Usage.StdoutBytes = 100_000
	}
	for _, t := range r.Tests {
		if w.Tested != nil {
			w.Tested()
		}
		res.Tests = append(res.Tests, api.TestResult{ID: t.ID, Answer: api.Accepted, Result: api.Result{Verdict: api.OK}})
	}
	return res, nil
}

func (f *fakeRunner) CreateSession(context.Context, api.SessionRequest) (api.Session, error) {
	f.files = map[string]string{}
	return api.Session{ID: "s1", Idle: api.SessionIdle, Ends: "2026-11-29T23:00:00Z"}, nil
}

func (f *fakeRunner) Exec(_ context.Context, session string, e api.Exec) (api.Result, error) {
	if f.files == nil {
		return api.Result{}, api.Refuse(api.CodeSessionEnded, "session %s has ended", session)
	}
	return api.Result{Verdict: api.OK, Stage: api.StageRun, Stdout: api.Bytes(strings.Join(e.Argv, " "))}, nil
}

func (f *fakeRunner) EndSession(context.Context, string) error { f.files = nil; return nil }

func (f *fakeRunner) PutFile(_ context.Context, _, name string, content io.Reader, _ bool) error {
	text, err := io.ReadAll(content)
	f.files[name] = string(text)
	return err
}

func (f *fakeRunner) GetFile(_ context.Context, _, name string, to io.Writer) error {
	_, err := io.WriteString(to, f.files[name])
	return err
}

func (f *fakeRunner) DeleteFile(_ context.Context, _, name string) error {
	if _, is := f.files[name]; !is {
		return api.Refuse(api.CodeNotFound, "there is no file %s", name)
	}
	delete(f.files, name)
	return nil
}

func (f *fakeRunner) ListFiles(context.Context, string, string) (l api.FileList, err error) {
	for name, text := range f.files {
		l.Files = append(l.Files, api.FileInfo{Name: name, Kind: api.RegularFile, Size: int64(len(text))})
	}
	return l, nil
}

// inMemory connects a client to a server without a network.
func inMemory(t *testing.T, r Runner) *sdk.ClientSession {
	t.Helper()
	ours, theirs := sdk.NewInMemoryTransports()
	server, err := NewServer(r, "test").Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return connect(t, theirs)
}

func connect(t *testing.T, to sdk.Transport) *sdk.ClientSession {
	t.Helper()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), to, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// use calls a tool and returns its text; the structured answer is decoded into out, which may be nil.
func use(t *testing.T, c *sdk.ClientSession, name string, args map[string]any, out any) (text string, failed bool) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, part := range res.Content {
		if said, is := part.(*sdk.TextContent); is { // otherwise it is a picture
			text += said.Text
		}
	}
	if out != nil {
		raw, err := json.Marshal(res.StructuredContent)
		if err == nil {
			err = json.Unmarshal(raw, out)
		}
		if err != nil {
			t.Errorf("%s: %s: %v", name, raw, err)
		}
	}
	return text, res.IsError
}

type args = map[string]any

func TestTools(t *testing.T) {
	c := inMemory(t, &fakeRunner{})
	if !strings.Contains(c.InitializeResult().Instructions, "print what you want to see") {
		t.Error("the server gives no instructions")
	}

	for _, tt := range []struct {
		tool   string
		args   args
		says   string
		failed bool
	}{
		{"list_languages", nil, "python 3.13", false},
		{"run_code", args{"language": "python", "code": "hello", "files": args{"a": "b", "c": args{"base64": "AA=="}}},
			"stdout:\nhello", false},
		{"run_code", args{"language": "python", "code": "fail"}, "verdict: nonzero (exit code 1)", false},
		{"run_code", args{"language": "python", "code": "long"}, "[87712 bytes left out]", false},
		{"run_code", args{"language": "python", "code": "brig"},
			"brig: queue-full: the queue is full. Safe to try the same call again: yes, after 1 s", true},
		{"run_code", args{"language": "python"}, "code", true},
		{"run_code", args{"language": "python", "code": "", "files": args{"a": 7}}, "files", true},
		{"run_code", args{"language": "python", "code": "", "memory": "x"}, "brig: bad-limits: ", true},
		{"run_tests", args{"language": "python", "code": "x", "tests": []args{{"stdin": "", "expected": ""}}},
			"1 of 1 tests accepted", false},
		{"run_command", args{"session_id": "s1", "command": "ls"},
			"brig: session-ended: session s1 has ended. Safe to try the same call again: no", true},
		{"create_session", nil, "session_id: s1\n", false},
		{"run_command", args{"session_id": "s1", "command": "ls -l"}, "stdout:\nsh -c ls -l", false},
		{"run_command", args{"session_id": "s1", "command": []string{"ls", "-l"}}, "stdout:\nls -l", false},
		{"run_command", args{"session_id": "s1", "command": []string{}}, "command", true},
		{"write_file", args{"session_id": "s1", "path": "/box/d/a", "content": "text"}, "4 bytes are in /box/d/a", false},
		{"list_files", args{"session_id": "s1"}, `file 4 "d/a"`, false},
		{"read_file", args{"session_id": "s1", "path": "d/a", "offset": 1}, "ext", false},
		{"read_file", args{"session_id": "s1", "path": "d/a", "offset": -1}, "brig: bad-request: offset", true},
		{"delete_file", args{"session_id": "s1", "path": "d/a"}, "/box/d/a is deleted", false},
		{"delete_file", args{"session_id": "s1", "path": "d/a"}, "brig: not-found: ", true},
		{"end_session", args{"session_id": "s1"}, "the session s1 has ended", false},
	} {
		text, failed := use(t, c, tt.tool, tt.args, nil)
		if failed != tt.failed || !strings.Contains(text, tt.says) {
			t.Errorf("%s %v: failed: %v, %s\nwant %q", tt.tool, tt.args, failed, text, tt.says)
		}
	}

	var o Outcome
	use(t, c, "run_code", args{"language": "python", "code": "long"}, &o)
	if o.Verdict != "ok" || !o.Truncated || o.StdoutLeftOut != 87712 {
		t.Errorf("%+v", o)
	}
}

// The list has every tool with its schemas and hints, always in the same order.
func TestListOfTools(t *testing.T) {
	list, err := inMemory(t, &fakeLive{}).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, one := range list.Tools {
		names = append(names, one.Name)
		reading := strings.HasPrefix(one.Name, "list_") || strings.HasPrefix(one.Name, "read_")
		a := one.Annotations
		if one.OutputSchema == nil || one.InputSchema == nil || one.Description == "" || a.ReadOnlyHint != reading ||
			a.DestructiveHint == nil || *a.DestructiveHint || a.OpenWorldHint == nil || *a.OpenWorldHint {
			t.Errorf("%s: %+v", one.Name, one)
		}
	}

	want := "create_session delete_file end_kernel end_session interrupt_kernel list_files list_kernels list_languages " +
		"list_processes read_file read_output restart_kernel run_cell run_code run_command run_tests send_input send_signal " +
		"start_kernel start_process write_file"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("tools %s\nwant %s", got, want)
	}
	if list.TTLMs <= 0 {
		t.Error("the list cannot be kept by clients")
	}
}

// Many calls at once, over HTTP without sessions, each get their own answer.
func TestConcurrentCalls(t *testing.T) {
	web := httptest.NewServer(Handler("test", func(*http.Request) Live { return &fakeLive{} }))
	defer web.Close()
	c := connect(t, &sdk.StreamableClientTransport{Endpoint: web.URL})

	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() {
			var o Outcome
			code := fmt.Sprintf("program %d", i)
			if _, failed := use(t, c, "run_code", args{"language": "python", "code": code}, &o); failed || o.Stdout != code {
				t.Errorf("call %d: %+v", i, o)
			}
		})
	}
	calls.Wait()
}

// Older clients, which begin with initialize, are served too, as are lines of stdin.
func TestLinesOfStdin(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_code",` +
		`"arguments":{"language":"python","code":"hello"}}}
`
	from, to := io.Pipe()
	out, answers := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), &fakeRunner{}, "test", from, answers); answers.Close() }()
	go io.WriteString(to, in)

	d := json.NewDecoder(out)
	for _, want := range []string{`"2025-06-18"`, `"verdict":"ok"`} {
		var answer json.RawMessage
		if err := d.Decode(&answer); err != nil || !strings.Contains(string(answer), want) {
			t.Errorf("%v: %s\nwant %s", err, answer, want)
		}
	}

	to.Close()
	if err := <-ended; err != nil {
		t.Errorf("after the end of stdin: %v", err)
	}
}
