package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client that asks for it is told of progress before the answer, over a stream; one that does not ask gets JSON.
func TestProgress(t *testing.T) {
	web := httptest.NewServer(Handler("test", func(*http.Request) Live { return &fakeLive{} }))
	defer web.Close()

	told := make(chan string, 100)
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *sdk.ProgressNotificationClientRequest) {
			told <- fmt.Sprintf("%v %v/%v", n.Params.ProgressToken, n.Params.Progress, n.Params.Total)
		}}).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: web.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	for _, tt := range []struct {
		tool string
		args args
		want []string
	}{
		{"list_languages", nil, nil},
		{"run_code", args{"language": "python", "code": "x"}, []string{"p 0/0", "p 1/0"}},
		{"run_tests", args{"language": "python", "code": "x", "tests": []args{{"stdin": ""}, {"stdin": ""}}},
			[]string{"p 0/2", "p 1/2", "p 2/2"}},
	} {
		params := &sdk.CallToolParams{Name: tt.tool, Arguments: tt.args}
		if tt.args == nil {
			params.Arguments = nil
		}
		params.SetProgressToken("p")
		if _, err := c.CallTool(t.Context(), params); err != nil {
			t.Errorf("%s: %v", tt.tool, err)
		}
		for _, want := range tt.want { // the client may read them after the answer
			if got := <-told; got != want {
				t.Errorf("%s: told %q, want %q", tt.tool, got, want)
			}
		}
	}
}

// A thousand tests are told of in at most a hundred and two notices, and the last is that all have ended.
func TestNoticesOfManyTests(t *testing.T) {
	for _, total := range []int{1, 99, 100, 101, 1000, 1999} {
		var done []int
		w := progress(func(n, _ int, _ string) { done = append(done, n) }).watchTests(total)
		for range total {
			w.Tested()
		}
		if len(done) > 2*notices+2 || done[0] != 0 || done[len(done)-1] != total {
			t.Errorf("%d tests: %v", total, done)
		}
		for i := 1; i < len(done); i++ {
			if done[i] <= done[i-1] {
				t.Errorf("%d tests: %d after %d", total, done[i], done[i-1])
			}
		}
	}
}

// Over each transport, a call that its client cancels ends the run.
func TestACanceledCallEndsTheRun(t *testing.T) {
	for _, way := range []string{"lines", "http"} {
		t.Run(way, func(t *testing.T) {
			r := &fakeLive{fakeRunner: fakeRunner{begun: make(chan struct{}), ended: make(chan struct{})}}
			var c *sdk.ClientSession
			if way == "lines" {
				c = inMemory(t, r)
			} else {
				web := httptest.NewServer(Handler("test", func(*http.Request) Live { return r }))
				defer web.Close()
				c = connect(t, &sdk.StreamableClientTransport{Endpoint: web.URL})
			}

			ctx, cancel := context.WithCancel(t.Context())
			answered := make(chan error, 1)
			go func() {
				_, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "run_code", Arguments: args{"language": "python", "code": "forever"}})
				answered <- err
			}()
			<-r.begun
			cancel()
			<-r.ended
			if err := <-answered; err == nil {
				t.Error("a canceled call has an answer")
			}
		})
	}
}

func TestToolsRefuseSubscriptions(t *testing.T) {
	web := httptest.NewServer(Handler("test", func(*http.Request) Live { return &fakeLive{} }))
	defer web.Close()
	const meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	r, err := http.NewRequestWithContext(t.Context(), "POST", web.URL, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":`+meta+`,"notifications":{"toolsListChanged":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"} {
		r.Header.Set(name, value)
	}

	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body) // ends: the stream is not kept open
	if err != nil || !strings.Contains(string(text), "-32601") {
		t.Errorf("%v, %d, %s", err, res.StatusCode, text)
	}
}
