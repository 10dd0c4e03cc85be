package service

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/client"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/mcp"
	"github.com/brig-sandbox/brig/service/quota"
)

const (
	maxMessage = 4 * api.MiB // of /mcp: what a model writes is small

	// messageCopies is how often a message of /mcp is in memory in addition to its body: the SDK's copy, the
	// arguments as JSON and as values, and the request that is made of them, as a value, as JSON and as a body.
	messageCopies = 6

	// maxToolAnswer bounds the answer to a tool's request: two streams of 16 MiB in base64, and files.
	maxToolAnswer = 48 * api.MiB
)

// toolsHandler makes the handler of /mcp. The tools send requests to the service itself, with the key of their caller,
// so that each is admitted, queued, bounded and recorded as one that arrives over the network.
func (g *Gateway) toolsHandler() http.Handler {
	reading := make(chan struct{}, 1)
	return mcp.Handler(g.core.Config.Version, func(r *http.Request) mcp.Runner {
		to := &inProcess{core: g.core, handler: g, caller: r, reading: reading}
		c := client.New("http://localhost", "")
		c.HTTP = &http.Client{Transport: to}
		c.MaxAnswer = maxToolAnswer
		return mcp.Service{Client: c}
	})
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

	if len(raw) > core.LargeBodyMin {
		copies := g.core.BodyQuota.Reserve(key, 0)
		defer copies.Release()
		err := copies.Grow(r.Context(), messageCopies*int64(len(raw)), core.BodyWait)
		if errors.Is(err, quota.ErrFull) {
			return core.Problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy,
				"the memory for large requests is full of other requests: send it again later"))
		}
		if err != nil {
			return err
		}
	}

	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	g.tools.ServeHTTP(deadlineWriter{w}, r)
	return nil
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

// A deadlineWriter gives the client time to read from when the response begins, however long it took to make.
type deadlineWriter struct{ http.ResponseWriter }

func (d deadlineWriter) WriteHeader(status int) {
	core.SetWriteDeadline(d.ResponseWriter)
	d.Header().Set("X-Content-Type-Options", "nosniff")
	d.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (d deadlineWriter) Unwrap() http.ResponseWriter { return d.ResponseWriter }
