//go:build mcpfixtures

package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/service/mcp/fixtures"
)

// addFixtures adds what the conformance suite calls by name.
func addFixtures(s *sdk.Server) { fixtures.Add(s) }

// forFixtures adds what they need.
func forFixtures(o *sdk.ServerOptions) {
	o.CompletionHandler = fixtures.Complete
	o.Capabilities.Prompts = &sdk.PromptCapabilities{}
	o.Capabilities.Completions = &sdk.CompletionCapabilities{}
	o.Capabilities.Logging = &sdk.LoggingCapabilities{} //nolint:staticcheck // the suite tests what the protocol will drop
}
