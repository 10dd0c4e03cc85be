//go:build !mcpfixtures

package mcp

import sdk "github.com/modelcontextprotocol/go-sdk/mcp"

// addFixtures adds nothing: see fixtures.
func addFixtures(*sdk.Server) {}

// forFixtures changes nothing.
func forFixtures(*sdk.ServerOptions) {}
