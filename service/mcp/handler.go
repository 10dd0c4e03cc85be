package mcp

import (
	"context"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type serverKey struct{}

// Handler answers MCP over Streamable HTTP. It keeps nothing between requests. runner makes the Runner for one
// request, whose calls end with it. Requests must be authenticated, of no foreign origin, and of bounded size already.
func Handler(version string, runner func(*http.Request) Runner) http.Handler {
	serve := sdk.NewStreamableHTTPHandler(
		func(r *http.Request) *sdk.Server {
			s, _ := r.Context().Value(serverKey{}).(*sdk.Server)
			return s
		},
		&sdk.StreamableHTTPOptions{
			Stateless:                    true,
			JSONResponse:                 true, // the tools send nothing before their answer
			PropagateRequestCancellation: true,
			DisableLocalhostProtection:   true, // the caller checks the host's name, and a proxy may have another one
			MaxRequestBodyBytes:          -1,
		})

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server := NewServer(runner(r), version) // the SDK asks for it several times
		serve.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), serverKey{}, server)))
	})
}
