// Package mcp offers brig's sandboxes to language models and their editors as tools of the Model Context Protocol.
//
// Each tool has a pure function that makes a request of its arguments, and one that makes its answer of a result.
// What a program does is always an answer. Only a failure or refusal of brig is an error of a tool.
package mcp

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
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

// listFor is how long a client may keep the list of tools, which changes only with brig's version.
const listFor = time.Hour

// schemas keeps what is derived from Go types: a stateless handler makes a server for each request.
var schemas = sdk.NewSchemaCache()

// NewServer makes a server whose tools call r. version is brig's.
func NewServer(r Runner, version string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "brig", Title: "brig: sandboxes for programs", Version: version},
		&sdk.ServerOptions{
			Instructions: instructions,
			SchemaCache:  schemas,
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // the list never changes
			SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
				c.TTLMs, c.CacheScope = int(listFor.Milliseconds()), "public"
			},
		})

	addPrograms(s, r)
	addSessions(s, r)
	addFiles(s, r)
	return s
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
	input              func() *jsonschema.Schema // nil: as derived from the arguments' Go type
}

// An answer can say what it contains to a model that reads text only.
type answer interface{ text() string }

// add registers a tool. call carries it out.
func add[In any, Out answer](s *sdk.Server, t tool, call func(context.Context, In) (Out, error)) {
	told := &sdk.Tool{Name: t.name, Title: t.title, Description: t.about, Annotations: t.effect.annotations(t.title)}
	if t.input != nil {
		told.InputSchema = t.input()
	}

	sdk.AddTool(s, told, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		out, err := call(ctx, in)
		if err != nil {
			var none Out
			return nil, none, failure(err, t.effect)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: out.text()}}}, out, nil
	})
}
