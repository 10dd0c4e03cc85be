package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/client"
)

// echoAgent is an agent whose programs print their source, and which has one session.
func echoAgent() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		var ask api.Run
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
			deny(w, 400, api.Refuse(api.CodeBadRequest, "%w", err))
			return
		}
		if string(ask.Source) == "gone" {
			deny(w, 500, api.Fail(api.CodeInternal, "a step failed in /secret/path"))
			return
		}
		n := int64(len(ask.Source))
		if string(ask.Source) == "much" {
			ask.Source, n = api.Bytes(strings.Repeat("x", 1<<20)), 1<<20
		}
		answerRun(w, r, api.Result{Verdict: api.OK, Stdout: ask.Source, Usage: api.Usage{StdoutBytes: n}})
	})
	mux.HandleFunc("POST /v1/sessions", func(w http.ResponseWriter, r *http.Request) { say(w, 201, idleSession("s1")) })
	mux.HandleFunc("POST /v1/sessions/s1/exec", func(w http.ResponseWriter, r *http.Request) {
		var ask api.Exec
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
			deny(w, 400, api.Refuse(api.CodeBadRequest, "%w", err))
			return
		}
		if ask.Argv[len(ask.Argv)-1] == "much" {
			say(w, 200, api.Result{Verdict: api.OK, Stdout: api.Bytes(strings.Repeat("x", 1<<20)), Usage: api.Usage{StdoutBytes: 1 << 20}})
			return
		}
		say(w, 200, api.Result{Verdict: api.Nonzero, ExitCode: 7})
	})
	mux.HandleFunc("GET /v1/sessions/s1/files/big", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 10<<20))
	})
	mux.HandleFunc("DELETE /v1/sessions/s1", func(w http.ResponseWriter, r *http.Request) { say(w, 200, struct{}{}) })
	return mux
}

// tools connects a client of MCP to a service, with headers.
func tools(t *testing.T, web *httptest.Server, header ...string) (*sdk.ClientSession, error) {
	t.Helper()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: web.URL + "/mcp", MaxRetries: -1,
			HTTPClient: &http.Client{Transport: withHeader{header}}}, nil)
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

type withHeader struct{ header []string }

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for i := 0; i+1 < len(h.header); i += 2 {
		r.Header.Set(h.header[i], h.header[i+1])
	}
	return http.DefaultTransport.RoundTrip(r)
}

// tool calls a tool and returns its text.
func tool(t *testing.T, c *sdk.ClientSession, name string, args map[string]any) (text string, failed bool) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return "", true
	}
	return res.Content[0].(*sdk.TextContent).Text, res.IsError
}

func TestToolsOfTheService(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	web := serveFake(t, echoAgent(), func(c *Config) { c.Keys = keys })
	ann, err := tools(t, web, as["ann"]...)
	if err != nil {
		t.Fatal(err)
	}
	bob, err := tools(t, web, as["bob"]...)
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		who    *sdk.ClientSession
		tool   string
		args   map[string]any
		says   string
		failed bool
	}{
		{ann, "list_languages", nil, "python\n", false},
		{ann, "run_code", map[string]any{"language": "python", "code": "hello"}, "stdout:\nhello\n", false},
		{ann, "run_code", map[string]any{"language": "python", "code": "much"}, "bytes left out]", false},
		{ann, "run_code", map[string]any{"language": "python", "code": "gone"}, "brig: internal: ", true},
		{ann, "run_code", map[string]any{"language": "python", "code": strings.Repeat("y", 1<<20)}, "bytes left out]", false},
		{ann, "create_session", nil, "session_id: s1\n", false},
		{ann, "run_command", map[string]any{"session_id": "s1", "command": "x"}, "verdict: nonzero (exit code 7)", false},
		{ann, "read_file", map[string]any{"session_id": "s1", "path": "big"}, "[the file goes on at offset 32768]", false},
		{ann, "read_file", map[string]any{"session_id": "../..", "path": "big"}, "brig: ", true},
		{bob, "run_command", map[string]any{"session_id": "s1", "command": "x"}, "brig: not-found: ", true},
		{ann, "list_processes", map[string]any{"session_id": "s1"}, "there are no processes\n", false},
		{ann, "read_output", map[string]any{"session_id": "s1", "process_id": 1}, "brig: not-found: ", true},
		{ann, "list_kernels", map[string]any{"session_id": "s1"}, "there are no kernels\n", false},
		{ann, "run_cell", map[string]any{"session_id": "s1", "kernel_id": "k", "code": "x"}, "brig: not-found: ", true},
		{bob, "start_process", map[string]any{"session_id": "s1", "command": "x"}, "brig: not-found: ", true},
		{bob, "list_processes", map[string]any{"session_id": "s1"}, "brig: not-found: ", true},
		{bob, "read_output", map[string]any{"session_id": "s1", "process_id": 1}, "brig: not-found: ", true},
		{bob, "send_input", map[string]any{"session_id": "s1", "process_id": 1, "input": "x"}, "brig: not-found: ", true},
		{bob, "send_signal", map[string]any{"session_id": "s1", "process_id": 1}, "brig: not-found: ", true},
		{bob, "start_kernel", map[string]any{"session_id": "s1"}, "brig: not-found: ", true},
		{bob, "list_kernels", map[string]any{"session_id": "s1"}, "brig: not-found: ", true},
		{bob, "run_cell", map[string]any{"session_id": "s1", "code": "x"}, "brig: not-found: ", true},
		{bob, "run_cell", map[string]any{"session_id": "s1", "kernel_id": "k", "code": "x"}, "brig: not-found: ", true},
		{bob, "interrupt_kernel", map[string]any{"session_id": "s1", "kernel_id": "k"}, "brig: not-found: ", true},
		{bob, "restart_kernel", map[string]any{"session_id": "s1", "kernel_id": "k"}, "brig: not-found: ", true},
		{bob, "end_kernel", map[string]any{"session_id": "s1", "kernel_id": "k"}, "brig: not-found: ", true},
		{ann, "end_session", map[string]any{"session_id": "s1"}, "has ended", false},
	} {
		text, failed := tool(t, tt.who, tt.tool, tt.args)
		if failed != tt.failed || !strings.Contains(text, tt.says) || strings.Contains(text, "/secret") {
			t.Errorf("%s %.80v: failed: %v, %.300s\nwant %q", tt.tool, tt.args, failed, text, tt.says)
		}
	}

	// The runs are in the history of their key, by the dialect mcp and under the project of that name.
	page, err := client.New(web.URL, strings.TrimPrefix(as["ann"][1], "Bearer ")).History(t.Context(), client.Filter{})
	if err != nil || len(page.Items) < 5 || page.Items[len(page.Items)-1].Project != "mcp" || !allOf(page.Items, "mcp") {
		t.Errorf("%v, %+v", err, page.Items)
	}
	page, err = client.New(web.URL, strings.TrimPrefix(as["bob"][1], "Bearer ")).History(t.Context(), client.Filter{})
	if err != nil || len(page.Items) > 0 {
		t.Errorf("%v, %+v", err, page.Items)
	}
}

// allOf reports whether all runs came by a dialect.
func allOf(all []api.Record, dialect string) bool {
	return !slices.ContainsFunc(all, func(r api.Record) bool { return r.Dialect != dialect })
}

// The result of a run that a tool began is a resource of its caller alone, and a call whose client leaves ends its run.
func TestResultsOfToolsAndCanceledTools(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	agent := echoAgent()
	mux := http.NewServeMux()
	mux.Handle("/", agent)
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if bytes.Contains(raw, []byte("forever")) {
			close(begun)
			<-r.Context().Done()
			close(ended)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		agent.ServeHTTP(w, r)
	})

	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	web := serveFake(t, mux, func(c *Config) { c.Keys = keys })
	ann, err := tools(t, web, as["ann"]...)
	if err != nil {
		t.Fatal(err)
	}
	bob, err := tools(t, web, as["bob"]...)
	if err != nil {
		t.Fatal(err)
	}

	program := func(code string) *sdk.CallToolParams {
		return &sdk.CallToolParams{Name: "run_code", Arguments: map[string]any{"language": "python", "code": code}}
	}
	res, err := ann.CallTool(t.Context(), program("6*7"))
	if err != nil {
		t.Fatal(err)
	}
	run, _ := res.StructuredContent.(map[string]any)["run_id"].(string)
	uri := "brig://runs/" + run
	read, err := ann.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil || !strings.Contains(read.Contents[0].Text, "6*7") {
		t.Errorf("%s: %v, %+v", uri, err, read)
	}
	if read, err := bob.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
		t.Errorf("another key reads %s: %+v", uri, read)
	}

	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := ann.CallTool(ctx, program("forever"))
		answered <- err
	}()
	<-begun
	cancel()
	<-ended
	if err := <-answered; err == nil {
		t.Error("a canceled call has an answer")
	}
}

// 64 calls at once wait in the queue of the service like other requests, and none has the answer of another.
func TestToolsWaitInTheQueue(t *testing.T) {
	var now, most atomic.Int64
	agent := echoAgent()
	mux := http.NewServeMux()
	mux.Handle("/", agent)
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		for n := now.Add(1); ; {
			if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		agent.ServeHTTP(w, r)
		now.Add(-1)
	})

	web := serveFake(t, mux, func(c *Config) { c.QueuePlaces = 64 })
	c, err := tools(t, web)
	if err != nil {
		t.Fatal(err)
	}

	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() {
			code := fmt.Sprintf("program %d.", i)
			text, failed := tool(t, c, "run_code", map[string]any{"language": "python", "code": code})
			if failed || !strings.Contains(text, code) {
				t.Errorf("call %d: %s", i, text)
			}
		})
	}

	calls.Wait()
	if most.Load() > 4 {
		t.Errorf("the agent had %d runs at once; it has 4 slots", most.Load())
	}
}

func TestToolsRefuse(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"})
	web := serveFake(t, echoAgent(), func(c *Config) { c.Keys = keys })
	if _, err := tools(t, web); err == nil {
		t.Error("a client without a key is served")
	}

	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, tt := range []struct {
		name, method, body string
		header             []string
		want               int
	}{
		{"no key", "POST", list, nil, 401},
		{"an unknown key", "POST", list, []string{"Authorization", "Bearer brig_x"}, 401},
		{"a foreign page", "POST", list, append([]string{"Origin", "http://evil.example"}, as["ann"]...), 403},
		{"a page without an origin", "POST", list, append([]string{"Origin", "null"}, as["ann"]...), 403},
		{"a form", "POST", list, append([]string{"Content-Type", "text/plain"}, as["ann"]...), 415},
		{"another method", "GET", "", as["ann"], 405},
		{"another method", "DELETE", "", as["ann"], 405},
		{"no JSON", "POST", "{", as["ann"], 400},
		{"a batch", "POST", "\n[" + list + "]", as["ann"], 400},
		{"too large", "POST", `"` + strings.Repeat("x", int(maxMessage)) + `"`, as["ann"], 413},
		{"an old client without initialize", "POST", list, as["ann"], 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, web.URL+"/mcp", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}

		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i+1 < len(tt.header); i += 2 {
			r.Header.Set(tt.header[i], tt.header[i+1])
		}

		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != tt.want {
			t.Errorf("%s: %d, %.300s; want %d", tt.name, res.StatusCode, text, tt.want)
		}
	}
}

// An answer for which there is no memory is an error of the tool, and not of the service.
func TestToolsNeedMemoryForLargeAnswers(t *testing.T) {
	web := serveFake(t, echoAgent(), func(c *Config) { c.MaxAnswers = 16 * api.MiB })
	c, err := tools(t, web)
	if err != nil {
		t.Fatal(err)
	}

	if text, failed := tool(t, c, "create_session", nil); failed {
		t.Fatal(text)
	}
	run := func(word string) (string, bool) {
		return tool(t, c, "run_command", map[string]any{"session_id": "s1", "command": word})
	}
	core := web.Config.Handler.(*Gateway).core
	free := core.Responses.Memory.Used("")
	for core.Responses.Memory.TryAcquire("", 256<<10) { // all but what the answer itself needs
	}
	if text, failed := run("much"); !failed || !strings.Contains(text, "brig: busy: the memory for large responses is full") {
		t.Errorf("failed: %v, %.300s", failed, text)
	}
	if text, failed := tool(t, c, "run_code", map[string]any{"language": "python", "code": "much"}); failed ||
		!strings.Contains(text, "verdict: ok") { // a run keeps its verdict, and loses some of its output
		t.Errorf("failed: %v, %.300s", failed, text)
	}

	core.Responses.Memory.Release("", 2<<20) // for the answer, and none for the copy that the service reads
	if text, failed := run("much"); failed {
		t.Errorf("with memory: %.300s", text)
	}
	if text, failed := run("little"); failed || !strings.Contains(text, "exit code 7") {
		t.Errorf("after it: failed: %v, %.300s", failed, text)
	}

	core.Responses.Memory.Release("", core.Responses.Memory.Used("")-free)
}

// Two calls at once that fit into the memory for answers wait for each other, and none is refused: the service reads
// its own answers in their order, in memory that no quota counts.
func TestToolsReadLargeAnswersInTheirOrder(t *testing.T) {
	const size = 15 << 20
	output := api.Bytes(strings.Repeat("x", size))
	mux := echoAgent()
	large := func(w http.ResponseWriter, r *http.Request) {
		say(w, 200, api.Result{Verdict: api.OK, Stdout: output, Usage: api.Usage{StdoutBytes: size}})
	}
	mux.HandleFunc("POST /v1/sessions/s2/exec", large)
	agent := http.NewServeMux()
	agent.Handle("/", mux)
	agent.HandleFunc("POST /v1/sessions", func(w http.ResponseWriter, r *http.Request) { say(w, 201, idleSession("s2")) })
	agent.HandleFunc("POST /v1/runs", large)

	// A key alone may have 56 MiB of it: two answers of 15 MiB, but not the copies of one in addition.
	web := serveFake(t, agent, func(c *Config) { c.MaxAnswers = 128 * api.MiB })
	c, err := tools(t, web)
	if err != nil {
		t.Fatal(err)
	}
	if text, failed := tool(t, c, "create_session", nil); failed {
		t.Fatal(text)
	}

	for name, args := range map[string]map[string]any{
		"run_code":    {"language": "python", "code": "x"},
		"run_command": {"session_id": "s2", "command": "x"},
	} {
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() {
				if text, failed := tool(t, c, name, args); failed || !strings.Contains(text, "verdict: ok") ||
					!strings.Contains(text, fmt.Sprintf("[%d bytes left out]", size-12<<10)) {
					t.Errorf("%s: failed: %v, %.200s ... %.60q", name, failed, text, text[max(0, len(text)-60):])
				}
			})
		}
		calls.Wait()
	}

	// The service has it while another answer is read.
	g := web.Config.Handler.(*Gateway)
	done, err := g.core.ReadLarge(t.Context(), size)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan string, 1)
	go func() {
		text, _ := tool(t, c, "run_command", map[string]any{"session_id": "s2", "command": "x"})
		answered <- text
	}()
	for g.core.Responses.Memory.Total() == 0 { // its answer is there, or is about to be read
		runtime.Gosched()
	}
	done()
	if text := <-answered; !strings.Contains(text, "verdict: ok") {
		t.Errorf("after another: %.200s", text)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.core.ReadLarge(ctx, 32<<20+1); err == nil || !strings.Contains(err.Error(), "32") {
		t.Errorf("more than a quarter of the memory: %v", err)
	}
}
