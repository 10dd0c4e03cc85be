package service

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
		say(w, 200, api.Result{Verdict: api.OK, Stdout: ask.Source, Usage: api.Usage{StdoutBytes: n}})
	})
	mux.HandleFunc("POST /v1/sessions", func(w http.ResponseWriter, r *http.Request) { say(w, 201, idleSession("s1")) })
	mux.HandleFunc("POST /v1/sessions/s1/exec", func(w http.ResponseWriter, r *http.Request) {
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
		{ann, "end_session", map[string]any{"session_id": "s1"}, "has ended", false},
	} {
		text, failed := tool(t, tt.who, tt.tool, tt.args)
		if failed != tt.failed || !strings.Contains(text, tt.says) || strings.Contains(text, "/secret") {
			t.Errorf("%s %.80v: failed: %v, %.300s\nwant %q", tt.tool, tt.args, failed, text, tt.says)
		}
	}

	// The runs are in the history of their key, under the project mcp.
	page, err := client.New(web.URL, strings.TrimPrefix(as["ann"][1], "Bearer ")).History(t.Context(), client.Filter{})
	if err != nil || len(page.Items) < 5 || page.Items[len(page.Items)-1].Project != "mcp" {
		t.Errorf("%v, %+v", err, page.Items)
	}
	page, err = client.New(web.URL, strings.TrimPrefix(as["bob"][1], "Bearer ")).History(t.Context(), client.Filter{})
	if err != nil || len(page.Items) > 0 {
		t.Errorf("%v, %+v", err, page.Items)
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

	run := func(code string) (string, bool) {
		return tool(t, c, "run_code", map[string]any{"language": "python", "code": code})
	}
	core := web.Config.Handler.(*Gateway).core
	free := core.Responses.Memory.Used("")
	for core.Responses.Memory.TryAcquire("", 256<<10) { // all but what the answer itself needs
	}
	core.Responses.Memory.Release("", 2<<20)
	if text, failed := run("much"); !failed || !strings.Contains(text, "brig: busy: the answer has 1.0M") ||
		!strings.HasSuffix(text, "again: yes") {
		t.Errorf("failed: %v, %.300s", failed, text)
	}

	core.Responses.Memory.Release("", core.Responses.Memory.Used("")-free)
	if text, failed := run("much"); failed {
		t.Errorf("with memory: %.300s", text)
	}
	if text, failed := run("little"); failed || !strings.Contains(text, "little") {
		t.Errorf("after it: failed: %v, %.300s", failed, text)
	}
}
