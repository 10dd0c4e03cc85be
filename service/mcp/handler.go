package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type runnerKey struct{}

// Handler answers MCP over Streamable HTTP. It keeps nothing between requests. runner makes the Runner for one
// request, whose calls end with it. Requests must be authenticated, of no foreign origin, and of bounded size already.
func Handler(version string, runner func(*http.Request) Live) http.Handler {
	server := newServer(func(ctx context.Context) Runner { return ctx.Value(runnerKey{}).(Runner) },
		abilities{history: true, live: true}, version)
	whole, stream := transport(server, true), transport(server, false)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "the body was not read", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))

		r = r.WithContext(context.WithValue(r.Context(), runnerKey{}, runner(r)))
		if wantsStream(body) {
			stream.ServeHTTP(w, r)
			return
		}
		whole.ServeHTTP(w, r)
	})
}

// transport makes a handler whose answer is one JSON text, or else a stream of events that ends with the answer.
func transport(server *sdk.Server, whole bool) http.Handler {
	return sdk.NewStreamableHTTPHandler(
		func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{
			Stateless:                    true,
			JSONResponse:                 whole,
			PropagateRequestCancellation: true,
			DisableLocalhostProtection:   true, // the caller checks the host's name, and a proxy may have another one
			MaxRequestBodyBytes:          -1,
		})
}

// wantsStream reports whether a message may ask for notices before its answer. Each client must be able to read both
// forms, so that words of a program, which contain the name by accident, do no harm.
func wantsStream(message []byte) bool {
	for _, name := range []string{"progressToken", "io.modelcontextprotocol/logLevel"} {
		if bytes.Contains(message, []byte(name)) {
			return true
		}
	}
	return false
}
