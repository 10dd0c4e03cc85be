// Package mcp offers brig's sandboxes to language models and their editors as tools of the Model Context Protocol.
//
// Each tool has a pure function that makes a request of its arguments, and one that makes its answer of a result.
// What a program does is always an answer. Only a failure or refusal of brig is an error of a tool.
package mcp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// instructions are what a server tells models before they call a tool.
const instructions = `brig runs programs in a sandbox without network. The directory /box is the current one and
can be written to; the rest is read-only, except /tmp. Each call of run_code and run_tests has a fresh sandbox: nothing
remains of earlier calls. To keep files and processes between calls, use create_session, then run_command, and
end_session when you are done.

Only what a program prints is returned, so print what you want to see: the value of the last expression is not shown.
Of long output the middle is left out: print less, or write to a file in a session and read parts of it.

verdict says how a program ended: ok, nonzero (its exit code is not 0), signaled, cpu-limit, wall-limit, memory-limit,
output-limit, denied (a forbidden system call), compile-error or canceled. These are facts about the program: change the
program, and do not repeat the same call. If a call fails instead, brig has failed or refused it; the text says
whether the same call can be sent again.`

// liveInstructions follow where there are processes and kernels.
const liveInstructions = `

In a session, start_process starts a program that goes on, such as a server, and read_output reads what it
writes. run_cell runs code in an interpreter that keeps its variables: there the value of the last expression is
shown. What a cell says is its program's word.`

// listFor is how long a client may keep the lists of tools and resources, which change only with brig's version.
const listFor = time.Hour

// setCacheable says how long a client may keep an answer: the lists are those of every caller, and what a resource
// contains is its caller's own, and changes.
func setCacheable(_ context.Context, req sdk.Request, c *sdk.Cacheable) {
	if _, is := req.(*sdk.ReadResourceRequest); is {
		c.TTLMs, c.CacheScope = 0, "private"
		return
	}
	c.TTLMs, c.CacheScope = int(listFor.Milliseconds()), "public"
}

// A runnerOf finds the Runner of a call by its context.
type runnerOf func(context.Context) Runner

// NewServer makes a server whose tools call r. version is brig's.
func NewServer(r Runner, version string) *sdk.Server {
	_, history := r.(History)
	_, live := r.(Live)
	return newServer(func(context.Context) Runner { return r }, abilities{history, live}, version)
}

// abilities are what the Runners of a server also are.
type abilities struct{ history, live bool }

// newServer makes a server whose calls may have different Runners. To make one takes milliseconds, as the SDK checks the
// schema of each tool.
func newServer(of runnerOf, can abilities, version string) *sdk.Server {
	told := instructions
	if can.live {
		told += liveInstructions
	}
	o := &sdk.ServerOptions{
		Instructions: told,
		Capabilities: &sdk.ServerCapabilities{ // the lists never change
			Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
		SetCacheable: setCacheable,
	}
	forFixtures(o)
	s := sdk.NewServer(&sdk.Implementation{Name: "brig", Title: "brig: sandboxes for programs", Version: version}, o)

	addPrograms(s, of)
	addSessions(s, of)
	addFiles(s, of)
	if can.live {
		live := func(ctx context.Context) Live { return of(ctx).(Live) }
		addProcesses(s, live)
		addKernels(s, live)
	}
	addResources(s, of, can.history)
	addFixtures(s)
	s.AddReceivingMiddleware(withoutSubscriptions)
	return s
}

// withoutSubscriptions refuses subscriptions: nothing here ever changes, and the stream of one would occupy a connection
// until its client leaves (TestToolsRefuseSubscriptions).
func withoutSubscriptions(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method == "subscriptions/listen" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there is nothing to subscribe to"}
		}
		return next(ctx, method, req)
	}
}

// An effect says what a call leaves behind, and so whether a call can be sent again of which it is not known how it
// ended.
type effect int

const (
	reads   effect = iota // nothing
	fresh                 // nothing, but it runs a program
	same                  // the same, however often it is sent
	another               // more each time
)

// repeatable reports whether a call may be sent again, although it may have been carried out already.
func (e effect) repeatable() bool { return e != another }

// annotations are the hints for clients. Whatever a tool changes is in a sandbox and not of the user.
func (e effect) annotations(title string) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{
		Title:           title,
		ReadOnlyHint:    e == reads,
		IdempotentHint:  e == reads || e == same,
		DestructiveHint: new(false),
		OpenWorldHint:   new(false),
	}
}

// A tool is what clients are told about one tool.
type tool struct {
	name, title, about string
	effect             effect
}

// An answer can say what it contains to a model that reads text only.
type answer interface{ text() string }

// An illustrated is an answer with pictures.
type illustrated interface{ pictures() []sdk.Content }

// add registers a tool. call carries it out.
func add[In any, Out answer](s *sdk.Server, t tool, call func(context.Context, In) (Out, error)) {
	addWatched(s, t, func(ctx context.Context, in In, _ progress) (Out, error) { return call(ctx, in) })
}

// addWatched is add for a tool that tells its progress.
func addWatched[In any, Out answer](s *sdk.Server, t tool, call func(context.Context, In, progress) (Out, error)) {
	input, output := inputOf[In](), outputOf[Out]()
	told := &sdk.Tool{Name: t.name, Title: t.title, Description: t.about, Annotations: t.effect.annotations(t.title),
		InputSchema: input.text, OutputSchema: output.text}

	s.AddTool(told, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		in, err := decodeArguments[In](input, req.Params.Arguments)
		if err != nil {
			return failed(err), nil
		}
		out, err := call(ctx, in, progressOf(ctx, req))
		if err != nil {
			return failed(failure(err, t.effect)), nil
		}
		whole, err := json.Marshal(out)
		if err != nil {
			return nil, err
		}
		content := []sdk.Content{&sdk.TextContent{Text: out.text()}}
		if i, is := any(out).(illustrated); is {
			content = append(content, i.pictures()...)
		}
		return &sdk.CallToolResult{Content: content, StructuredContent: json.RawMessage(whole)}, nil
	})
}

// failed is the answer to a call that the model may correct, or send again.
func failed(err error) *sdk.CallToolResult {
	res := new(sdk.CallToolResult)
	res.SetError(err)
	return res
}
