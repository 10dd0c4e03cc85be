package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/client"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/mcp"
	"github.com/brig-sandbox/brig/service/quota"
	"github.com/brig-sandbox/brig/service/runs"
)

const (
	maxMessage = 4 * api.MiB // of /mcp: what a model writes is small

	// messageCopies is how often a message of /mcp is in memory in addition to its body: the SDK's copy, the
	// arguments as JSON and as values, and the request that is made of them, as a value, as JSON and as a body.
	messageCopies = 6

	// maxToolAnswer bounds the answer to a tool's request: two streams of 16 MiB in base64, and files.
	maxToolAnswer = 48 * api.MiB
)

// mcpName is what the history calls the dialect of /mcp.
const mcpName = "mcp"

// toolsHandler makes the handler of /mcp. Runs are executed as those of each dialect. For the rest the tools send requests
// to the service itself, with the key of their caller, so that each is admitted, bounded and recorded as one that arrives
// over the network.
func (g *Gateway) toolsHandler() http.Handler {
	return mcp.Handler(g.core.Config.Version, func(r *http.Request) mcp.Live {
		to := &inProcess{core: g.core, handler: g, caller: r, dialect: mcpName}
		c := client.New("http://localhost", "")
		c.HTTP = &http.Client{Transport: to}
		c.MaxAnswer = maxToolAnswer
		return modelRunner{mcp.Service{Client: c}, g, r}
	})
}

// A modelRunner is what the tools of one request call.
type modelRunner struct {
	mcp.Service
	gateway *Gateway
	caller  *http.Request
}

// Run executes a run. It ends when the call is canceled, or its client leaves.
func (m modelRunner) Run(ctx context.Context, run api.Run, w mcp.Watch) (api.Result, error) {
	with, cancel := context.WithCancel(m.caller.Context()) // which has the caller and the quota for what the agent answers
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()

	f := runs.Foreign{Dialect: mcpName, Started: w.Started}
	if w.Tested != nil {
		f.Tested = func(api.TestResult) { w.Tested() }
	}
	res, err := m.gateway.runs.ExecuteForeign(m.caller.WithContext(with), run, f)
	if err != nil {
		return res, m.gateway.runs.CountedProblem(err) // what the caller may read of it
	}
	return res, nil
}

// ExecuteCell executes a cell. Its events do not pass through a client of HTTP, which would have several copies of each in
// memory that no quota counts.
func (m modelRunner) ExecuteCell(ctx context.Context, session, kernel string, c api.Cell,
	handle func(api.CellEvent) error) (end api.CellEvent, err error) {
	tracked, done, err := m.gateway.core.Track(m.caller)
	if err != nil {
		return end, m.gateway.core.CountedProblem(err)
	}
	defer done()
	with, cancel := context.WithCancel(core.WithDialect(tracked, mcpName))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()

	caller := core.CallerOf(m.caller.Context())
	k, err := m.gateway.sessions.Kernel(caller, kernel)
	if err == nil && k.Session != session {
		err = api.Refuse(api.CodeNotFound, "session %.80q has no kernel %.80q: list its kernels, or make one", session, kernel)
	}
	if err != nil {
		return end, m.gateway.core.CountedProblem(err)
	}

	var failed error // of handle
	err = m.gateway.sessions.ExecuteCell(with, caller, kernel, c, func(e api.CellEvent) error {
		end = e
		failed = handle(e)
		return failed
	})
	switch {
	case failed != nil:
		return end, failed
	case err != nil:
		return end, m.gateway.core.CountedProblem(err)
	case end.Type != api.CellEventEnd: // its client has left, or the service stops
		return end, cmp.Or(with.Err(), io.ErrUnexpectedEOF)
	}
	return end, nil
}

// postMCP answers a message of the Model Context Protocol.
func (g *Gateway) postMCP(w http.ResponseWriter, r *http.Request) error {
	r, err := g.core.Authenticate(r)
	if err != nil {
		return err
	}

	key := core.CallerOf(r.Context()).Name
	leave, err := g.core.EnterRequest(key)
	if err != nil {
		return err
	}
	defer leave()

	if err := core.RequireJSON(r); err != nil {
		return err
	}
	maximum := g.maxMessage()
	if r.ContentLength > int64(maximum) {
		return messageTooLarge(maximum)
	}

	raw, release, err := g.core.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()

	if len(raw) > int(maximum) {
		return messageTooLarge(maximum)
	}

	// Batches were in one version of the protocol only. A small one could ask for the list of tools 40,000 times.
	if bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")) {
		return api.Refuse(api.CodeBadRequest, "the body is a list of messages: send each message in a request of its own")
	}

	free, err := g.reserveCopies(r, raw, messageCopies)
	if err != nil {
		return err
	}
	defer free()

	answer := g.core.NewAgentResponse(key)
	defer answer.Release()
	r = r.WithContext(answer.WithQuota(r.Context()))

	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	d := &deadlineWriter{ResponseWriter: w}
	g.tools.ServeHTTP(d, r)
	if !d.begun {
		return r.Context().Err() // the SDK answers nothing if the client has left, which would be an empty success
	}
	return nil
}

// reserveCopies reserves memory for copies of a body, which a request in a foreign form has in addition to it.
func (g *Gateway) reserveCopies(r *http.Request, body []byte, copies int) (release func(), err error) {
	if len(body) <= core.LargeBodyMin {
		return func() {}, nil
	}

	reserved := g.core.BodyQuota.Reserve(core.CallerOf(r.Context()).Name, 0)
	err = reserved.Grow(r.Context(), int64(copies)*int64(len(body)), core.BodyWait)
	if err != nil {
		reserved.Release()
	}
	if errors.Is(err, quota.ErrFull) {
		err = core.Problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy,
			"the memory for large requests is full of other requests: send it again later"))
	}
	return reserved.Release, err
}

// maxMessage is the size of the largest message: one that has memory for its copies, and for the body that a tool
// makes of it.
func (g *Gateway) maxMessage() api.Size {
	return min(maxMessage, g.core.Config.MaxBody, api.Size(g.core.MaxOfBody())/(messageCopies+2))
}

func messageTooLarge(maximum api.Size) error {
	return api.Refuse(api.CodeTooLarge,
		"the message is larger than the %s that /mcp accepts: write large files in parts, or use the API at /docs",
		maximum)
}

// A deadlineWriter gives the client time to read each piece from when it is written, however long it took to make.
type deadlineWriter struct {
	http.ResponseWriter
	begun bool
}

func (d *deadlineWriter) WriteHeader(status int) {
	d.begun = true
	core.SetWriteDeadline(d.ResponseWriter)
	d.Header().Set("X-Content-Type-Options", "nosniff")
	d.ResponseWriter.WriteHeader(status)
}

func (d *deadlineWriter) Write(b []byte) (int, error) {
	if !d.begun {
		d.WriteHeader(http.StatusOK)
	}
	core.SetWriteDeadline(d.ResponseWriter) // a stream of events may be longer than the time for one
	return d.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (d *deadlineWriter) Unwrap() http.ResponseWriter { return d.ResponseWriter }
